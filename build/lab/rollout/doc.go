// Package rollout plays rollouts that drive themselves: in a simulation with millions of made-up players, which counts how many a bad release
// reaches before it is held and how often a good one is held, and with real clients of a real server. It has tests only.
package rollout

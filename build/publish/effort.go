package publish

import (
	"fmt"

	"collet/netproto/chunk"
	"collet/netproto/solid"
)

// Effort is how much processor time a publication takes for whole objects and chunks. Clients read the results of every effort.
// Patches are always made at the best quality.
type Effort string

const (
	EffortFast     Effort = "fast"     // the least time
	EffortBalanced Effort = "balanced" // the default
	EffortBest     Effort = "best"     // the fewest bytes
)

// chunkEffort returns the effort of package chunk. An unknown name is an error.
func (e Effort) chunkEffort() (chunk.Effort, error) {
	switch e {
	case EffortFast:
		return chunk.EffortFast, nil
	case EffortBalanced:
		return chunk.EffortBalanced, nil
	case EffortBest:
		return chunk.EffortBest, nil
	default:
		return 0, fmt.Errorf("effort %q is not fast, balanced or best", e)
	}
}

// solidEffort returns the effort of package solid.
func (e Effort) solidEffort() solid.Effort {
	switch e {
	case EffortFast:
		return solid.Fast
	case EffortBest:
		return solid.Best
	default:
		return solid.Balanced
	}
}

//go:build !race

package main

const (
	drawnComponents = 200
	drawnHistories  = 4
)

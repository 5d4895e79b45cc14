package publish

import (
	"sync"
)

// meter adds up the progress of several goroutines.
type meter struct {
	mu     sync.Mutex
	report func(Progress)
	at     Progress
}

func newMeter(report func(Progress)) *meter {
	if report == nil {
		report = func(Progress) {}
	}
	return &meter{report: report}
}

// Stages of a publication, in their order.
const (
	stageHash   = 1
	stagePack   = 2 // whole objects
	stageChunks = 3
	stageMake   = 4 // what each release needs besides: patches, the solid form
	stageSign   = 5
	stageCount  = 5
)

// enterStage begins a stage of a publication, or with 0 leaves the last one: other commands have no stages.
func (m *meter) enterStage(stage int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.at = (Progress{Stage: stage, Stages: stageCount}); stage == 0 {
		m.at.Stages = 0
	}
}

// startStep begins an operation.
func (m *meter) startStep(doing, what string, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = Progress{Doing: doing, What: what, Total: total, Stage: m.at.Stage, Stages: m.at.Stages}
	m.report(m.at)
}

// addBytes counts finished bytes.
func (m *meter) addBytes(n int64, what string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Done += n
	m.at.What = what
	m.report(m.at)
}

// setBytes sets the progress.
func (m *meter) setBytes(done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at.Done, m.at.Total = done, total
	m.report(m.at)
}

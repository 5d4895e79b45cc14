package desk

import "time"

// LastScan is when the last scan of the working copy began.
func (d *Desk) LastScan() time.Time {
	d.scans.mu.Lock()
	defer d.scans.mu.Unlock()
	if d.scans.current == nil {
		return time.Time{}
	}
	return d.scans.current.began
}

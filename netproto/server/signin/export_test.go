package signin

import "time"

// RetryTime is how long a provider that could not be asked is left alone.
const RetryTime = retryTime

// Pass lets time pass for a provider.
func (p *Provider) Pass(d time.Duration) {
	now := p.now
	p.now = func() time.Time { return now().Add(d) }
}

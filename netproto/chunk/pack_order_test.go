package chunk

import "testing"

// TestOrderOfAnOlderPack needs chunks of one pack in another order than they lie in: ranges that go back and overlap.
func TestOrderOfAnOlderPack(t *testing.T) {
	a, b, c := chunkNoise(1, 200_000), chunkNoise(2, 200_000), chunkNoise(3, 200_000)
	s := newShelf()
	was, _ := s.publish(t, PackOptions{}, append(append(append([]byte(nil), a...), b...), c...))
	now := append(append(append(append([]byte(nil), c...), a[100_000:]...), b...), a[:100_000]...)
	is, _ := s.publish(t, PackOptions{Known: was}, now)
	for _, gap := range []int64{0, 10_000, 1 << 20} {
		rebuild(t, s, nil, is, [][]byte{now}, gap)
	}
}

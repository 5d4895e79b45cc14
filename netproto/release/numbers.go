package release

const (
	// MaxNumbers is the size in bytes of the largest encoded Numbers.
	MaxNumbers = 64 << 10
	// MaxSigners is how many keys may have signed the list.
	MaxSigners = 16
	// maxTracks is how many tracks one install remembers numbers of.
	maxTracks = 64
)

// Numbers are the highest release numbers that an install has seen, with the keys that signed the list with them.
type Numbers struct {
	Signers []string // key ids, sorted
	Seen    []Entry  // product, channel, target and number, sorted
}

// ParseNumbers reads the result of Encode. Any form but the canonical one is a *FormatError.
func ParseNumbers(data []byte) (Numbers, error) {
	var n Numbers
	if err := readDocument("numbers", data, MaxNumbers, n.code); err != nil {
		return Numbers{}, err
	}
	return n, nil
}

// Encode writes the canonical form.
func (n Numbers) Encode() ([]byte, error) { return writeDocument("numbers", MaxNumbers, n.code) }

func (n *Numbers) code(c *canon) {
	c.literal(`{"numbers":`)
	codeList(c, "numbers", &n.Seen, maxTracks, func(c *canon, e *Entry) {
		c.literal(`{"channel":`)
		c.text("channel", &e.Channel, maxName, nameFault)
		c.literal(`,"number":`)
		c.number("number", &e.Number, MaxNumber)
		c.literal(`,"product":`)
		c.text("product", &e.Product, maxName, nameFault)
		c.literal(`,"target":`)
		c.text("target", &e.Target, maxName, nameFault)
		c.literal(`}`)
	})
	c.literal(`,"signers":`)
	codeList(c, "signers", &n.Signers, MaxSigners, func(c *canon, s *string) { c.text("signer", s, maxText, hexFault) })
	c.literal(`}`)
}

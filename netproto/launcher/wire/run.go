package wire

// The codes of the messages about the application (docs/PROTOCOL.md, "Two dialects").
const (
	CodeStartApplication uint8 = 15
	CodeStopApplication  uint8 = 16
	CodeLogs             uint8 = 17
)

// StartApplication starts the game. It has no answer: the run state becomes running, or log lines give the reason for a failure.
type StartApplication struct {
	GameConfig  string // text of a .degame file; at most MaxText bytes
	ProfileName string // empty: the default profile; at most MaxName bytes
	Arguments   string // appended to those of the profile; at most MaxText bytes
}

// Code implements Message.
func (m *StartApplication) Code() uint8 { return CodeStartApplication }
func (m *StartApplication) code(c *coder) {
	c.text16("GameConfig", &m.GameConfig)
	c.text8("ProfileName", &m.ProfileName)
	c.text16("Arguments", &m.Arguments)
}

// StopApplication stops the game. Its only answer is the run state.
type StopApplication struct {
	Mode StopMode
}

// Code implements Message.
func (m *StopApplication) Code() uint8   { return CodeStopApplication }
func (m *StopApplication) code(c *coder) { c.U8("Mode", (*uint8)(&m.Mode)) }

// Logs is one line of a log.
type Logs struct {
	Level     LogLevel
	Source    string // Released: the author of the line; at most MaxName bytes
	Timestamp string // Draft: time stamp in any form; at most MaxName bytes
	Message   string // at most MaxText bytes
}

// Code implements Message.
func (m *Logs) Code() uint8 { return CodeLogs }
func (m *Logs) code(c *coder) {
	c.U8("Level", (*uint8)(&m.Level))
	if c.dialect == Draft {
		c.text8("Timestamp", &m.Timestamp)
	} else {
		c.text8("Source", &m.Source)
	}
	c.text16("Message", &m.Message)
}

// RunEnd is how an application ended.
type RunEnd struct {
	Exit int    // exit code, -1 if it has none
	Text string // for people
}

package wire

// NewID makes an id of its JSON text.
func NewID(raw string) ID { return ID{raw} }

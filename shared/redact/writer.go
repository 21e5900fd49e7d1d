package redact

import "io"

// Writer masks a stream, however it is cut into writes. It masks what Bytes
// would mask in the whole; only a secret that itself holds "[" or "]" may be
// spelled anew by a mask and the text beside it.
type Writer struct {
	masker  *Masker
	to      io.Writer
	pending []byte // what may still be the beginning of a secret
	covered int    // how much of pending belongs to a mask that was written
	masked  int
}

// Writer gives a writer that masks what passes through it to w. It holds back
// as much as the longest form is long; Flush must be called at the end.
func (m *Masker) Writer(w io.Writer) *Writer { return &Writer{masker: m, to: w} }

// Write masks p and passes on what cannot be part of a secret any more. It
// never reports fewer bytes than it was given without an error.
func (w *Writer) Write(p []byte) (int, error) {
	if w.masker == nil || w.masker.most == 0 {
		return w.to.Write(p)
	}
	w.pending = append(w.pending, p...)
	if err := w.pass(max(len(w.pending)-w.masker.most+1, 0)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what was held back. A secret that continues after it is not
// found.
func (w *Writer) Flush() error { return w.pass(len(w.pending)) }

// Masked is the number of places masked so far.
func (w *Writer) Masked() int { return w.masked }

// pass writes what is pending up to cut, masked. A form that begins before cut
// is whole in pending.
func (w *Writer) pass(cut int) error {
	if w.masker == nil || cut == 0 {
		return nil
	}
	var out []byte
	from := w.covered
	for begin, end := range w.masker.regions(w.pending) {
		if begin >= cut {
			break
		}
		if begin >= from {
			out = append(append(out, w.pending[from:begin]...), Mask...)
			w.masked++
		}
		from = max(from, end)
	}
	if from < cut {
		out = append(out, w.pending[from:cut]...)
		from = cut
	}
	w.covered = from - cut
	w.pending = w.pending[:copy(w.pending, w.pending[cut:])]
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

package local

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"mcprelay/shared/audit"
)

// state is how far a call's record has come. A frame says which of the two
// last ones it holds; these are numbers of the format.
type state uint8

const (
	none state = iota
	intent
	final
)

// A journal holds records as frames, each
//
//	checksum  4 bytes: CRC-32C of all that follows
//	length    4 bytes: of the payload
//	sequence  8 bytes: one more than the frame before
//	payload   state (1), time (8), seven texts (each a varint length and its
//	          bytes), and the record's JSON to the end
//
// in little endian. Frames that an earlier use of the same place left behind
// are told apart by their sequence, which begins at random: a caller who could
// guess it could hide a whole frame in a name that is recorded.
const (
	headSize = 16
	fixed    = 1 + 8 // of a payload, before its texts
	texts    = 7
	// maxPayload is twice an item, since every text stands in the JSON as
	// well, and what stands beside them.
	maxPayload = 2*MaxItem + fixed + texts*binary.MaxVarintLen32
)

// castagnoli is the polynomial for which processors have an instruction.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errNewer says that a whole frame is not understood.
var errNewer = errors.New("it was written by a newer relay")

// entry is a record as it is kept: the columns of its row and its JSON.
type entry struct {
	state                                           state
	time                                            int64 // nanoseconds since 1970
	call, tenant, agent, server, tool, run, outcome string
	record                                          string
}

// appendFrame appends the frame of a record to b; its head is filled in by
// seal.
func appendFrame(b []byte, as state, r *audit.Record) ([]byte, error) {
	if err := readable(r); err != nil {
		return nil, err
	}
	b = append(b, make([]byte, headSize)...)
	b = append(b, byte(as))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Time.UnixNano()))
	for _, text := range [texts]string{r.CallID, r.Tenant, r.Agent, r.Server, r.Tool, r.Run, string(r.Outcome)} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	begins := len(b)
	b = r.AppendJSON(b)
	return b, within(b[begins:])
}

// readable refuses what could be written and not read back: one such record
// would be in the way of every page that it is on.
func readable(r *audit.Record) error {
	switch year := r.Time.UTC().Year(); {
	case year < 0 || year > 9999: // RFC 3339
		return fmt.Errorf("the year %d", year)
	case math.IsNaN(r.DurationMS) || math.IsInf(r.DurationMS, 0):
		return errors.New("a duration that is no number")
	case len(r.PolicyMetadata) > 0 && !json.Valid(r.PolicyMetadata):
		return errors.New("metadata that is no JSON")
	}
	return nil
}

// seal fills in the head of a frame.
func seal(frame []byte, sequence uint64) {
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)-headSize))
	binary.LittleEndian.PutUint64(frame[8:], sequence)
	binary.LittleEndian.PutUint32(frame, crc32.Checksum(frame[4:], castagnoli))
}

// readBuffer is how much of a journal one system call reads.
const readBuffer = 64 << 10

// scan gives each payload of a run of frames, which is good until the next one,
// and ends without an error where a frame is not whole. It never gives a
// payload of which a byte is not as it was written.
func scan(r *bufio.Reader, each func(sequence uint64, payload []byte) error) error {
	next, first := uint64(0), true
	var frame []byte
	for {
		head, err := r.Peek(headSize)
		if err != nil {
			return unlessEnd(err)
		}
		length, sequence := binary.LittleEndian.Uint32(head[4:]), binary.LittleEndian.Uint64(head[8:])
		if length == 0 || length > maxPayload || !first && sequence != next {
			return nil
		}
		frame = slices.Grow(frame[:0], headSize+int(length))[:headSize+int(length)]
		if _, err := io.ReadFull(r, frame); err != nil {
			return unlessEnd(err)
		}
		if crc32.Checksum(frame[4:], castagnoli) != binary.LittleEndian.Uint32(frame) {
			return nil
		}
		if err := each(sequence, frame[headSize:]); err != nil {
			return err
		}
		next, first = sequence+1, false
	}
}

// entries gives the records of a run of frames, and the first sequence.
func entries(r *bufio.Reader) (all []entry, begins uint64, err error) {
	err = scan(r, func(sequence uint64, payload []byte) error {
		e, ok := parse(string(payload))
		if !ok {
			return errNewer
		}
		if len(all) == 0 {
			begins = sequence
		}
		all = append(all, e)
		return nil
	})
	return all, begins, err
}

// search gives how far the record of a call is in a run of frames.
func search(r *bufio.Reader, id key) (had state, err error) {
	var prefix []byte
	for _, text := range []string{id.call, id.tenant} {
		prefix = append(binary.AppendUvarint(prefix, uint64(len(text))), text...)
	}
	err = scan(r, func(_ uint64, payload []byte) error {
		if len(payload) < fixed || !bytes.HasPrefix(payload[fixed:], prefix) {
			return nil
		}
		if had = max(had, state(payload[0])); had > final {
			return errNewer
		}
		return nil
	})
	return had, err
}

// unlessEnd is an error of reading, other than that there is no more.
func unlessEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("reading a journal: %w", err)
}

// parse reads a payload.
func parse(payload string) (e entry, ok bool) {
	if len(payload) < fixed {
		return e, false
	}
	e.state = state(payload[0])
	e.time = int64(binary.LittleEndian.Uint64([]byte(payload[1:fixed])))
	rest := payload[fixed:]
	for _, text := range [texts]*string{&e.call, &e.tenant, &e.agent, &e.server, &e.tool, &e.run, &e.outcome} {
		length, n := binary.Uvarint([]byte(rest[:min(len(rest), binary.MaxVarintLen32)]))
		if n <= 0 || length > uint64(len(rest)-n) {
			return e, false
		}
		*text, rest = rest[n:n+int(length)], rest[n+int(length):]
	}
	e.record = rest
	return e, e.state == intent || e.state == final
}

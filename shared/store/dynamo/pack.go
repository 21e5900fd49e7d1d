package dynamo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"mcprelay/shared/call"
	"mcprelay/shared/catalog"
)

// maxUnpacked bounds one text, in bytes, before it is compressed; the hard cap
// of max_descriptor_bytes is a quarter of it.
const maxUnpacked = 4 << 20

// packJSON sets the body to the JSON form of a value.
func (i item) packJSON(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return i.pack(text)
}

// unpackJSON reads what packJSON was given.
func (i item) unpackJSON(value any) error {
	text, err := i.unpack()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, value)
}

// addTo adds the descriptor that an item holds to its list.
func (i item) addTo(c *catalog.Catalog) error {
	raw, err := i.unpack()
	if err != nil {
		return err
	}
	c.Add(catalog.Entry{List: call.List(i.getText(attrList)), Name: i.getText(attrTool), Raw: raw, Digest: i.getText(attrDigest)})
	return nil
}

// pack sets the body to a text byte for byte, compressed where no item could
// hold it or where it is not UTF-8.
func (i item) pack(text []byte) error {
	if len(text) <= MaxItem && utf8.Valid(text) {
		i.text(attrBody, string(text))
		return nil
	}
	if len(text) > maxUnpacked {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(text), maxUnpacked)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	// A write to a buffer never fails.
	_, _ = z.Write(text)
	_ = z.Close()
	if err := within(packed.Bytes()); err != nil {
		return fmt.Errorf("%d bytes, compressed: %w", len(text), err)
	}
	i[attrPacked] = &types.AttributeValueMemberB{Value: packed.Bytes()}
	return nil
}

// unpack is the text that pack was given.
func (i item) unpack() ([]byte, error) {
	packed, ok := i[attrPacked].(*types.AttributeValueMemberB)
	if !ok {
		return []byte(i.getText(attrBody)), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(packed.Value))
	if err != nil {
		return nil, fmt.Errorf("a packed item: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(z, maxUnpacked+1))
	if err == nil && len(text) > maxUnpacked {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, fmt.Errorf("a packed item: %w", err)
	}
	return text, nil
}

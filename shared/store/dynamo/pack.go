package dynamo

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"mcprelay/shared/catalog"
)

const (
	// MaxTools is the most tools of one catalog; the hard cap of max_tools is
	// half of it.
	MaxTools = 1024
	// MaxCatalog bounds the descriptors of one catalog, in bytes: the defaults
	// of max_tools and max_descriptor_bytes multiplied. Reading as much takes
	// DynamoDB 16 pages.
	MaxCatalog = 16 << 20
	// maxUnpacked bounds one text, in bytes, before it is compressed; the hard
	// cap of max_descriptor_bytes is a quarter of it.
	maxUnpacked = 4 << 20
)

// inBounds refuses a catalog that is too large as a whole.
func inBounds(c catalog.Catalog) error {
	if len(c.Tools) > MaxTools {
		return fmt.Errorf("%w: %d tools, at most %d", ErrTooLarge, len(c.Tools), MaxTools)
	}
	size := 0
	for _, tool := range c.Tools {
		if size += len(tool.Raw); size > MaxCatalog {
			return fmt.Errorf("%w: the tools up to %.128q have %d bytes, at most %d", ErrTooLarge, tool.Name, size, MaxCatalog)
		}
		if !utf8.ValidString(tool.Name) {
			return fmt.Errorf("the name %.128q is not UTF-8", tool.Name)
		}
	}
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

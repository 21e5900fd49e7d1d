package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/oklog/ulid/v2"

	"mcprelay/shared/audit"
)

// Intent inserts the record of a call that has not ended. A call id that is
// taken is [ErrExists].
func (s *Store) Intent(ctx context.Context, r audit.Record) error {
	i, err := itemOf(r, audit.StateIntent)
	if err == nil {
		err = s.put(ctx, s.c.Audit, i, absent())
	}
	if errors.Is(err, errCondition) {
		err = ErrExists
	}
	if err != nil {
		return fmt.Errorf("intent: %w", err)
	}
	return nil
}

// Final inserts a record or replaces the intent of the same call. A second
// final changes nothing and is [ErrAlreadyFinal].
func (s *Store) Final(ctx context.Context, r audit.Record) error {
	i, err := itemOf(r, audit.StateFinal)
	if err == nil {
		intent := item{}
		intent.text(":intent", string(audit.StateIntent))
		err = s.put(ctx, s.c.Audit, i, condition{
			expression: "attribute_not_exists(#pk) OR #state = :intent",
			names:      map[string]string{"#pk": attrPK, "#state": attrState},
			values:     intent,
		})
	}
	if errors.Is(err, errCondition) {
		err = ErrAlreadyFinal
	}
	if err != nil {
		return fmt.Errorf("final: %w", err)
	}
	return nil
}

// itemOf is the record as an item: the document, and beside it what is asked
// for. Its call id must be a ULID, by whose time the item is placed.
func itemOf(r audit.Record, state audit.State) (item, error) {
	id, err := ulid.ParseStrict(r.CallID)
	if err != nil {
		return nil, fmt.Errorf("call id %q: %w", r.CallID, err)
	}
	if r.Tenant == "" {
		return nil, fmt.Errorf("record of %s without a tenant", r.CallID)
	}
	r.State = state
	text, err := json.Marshal(r)
	if err == nil {
		err = within(text)
	}
	if err != nil {
		return nil, err
	}
	i := item{}
	for name, value := range keysOf(r, id) {
		i.text(name, value)
	}
	i.text(attrRecord, string(text))
	i.text(attrState, string(state))
	i.text(attrAgent, r.Agent)
	i.text(attrServer, r.Server)
	i.text(attrTool, r.Tool)
	i.text(attrRun, r.Run)
	i.text(attrOutcome, string(r.Outcome))
	i.number(attrExpiry, r.Time.Add(Retention).Unix())
	return i, nil
}

// errImage says that an image is not of the audit table.
var errImage = errors.New("the image holds no record")

// FromStream reads the record out of an image of the audit table's stream.
func FromStream(image map[string]events.DynamoDBAttributeValue) (audit.Record, error) {
	value, ok := image[attrRecord]
	// String panics on any other type.
	if !ok || value.DataType() != events.DataTypeString {
		return audit.Record{}, errImage
	}
	return decode(value.String())
}

func decode(text string) (audit.Record, error) {
	var r audit.Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return audit.Record{}, fmt.Errorf("a stored record: %w", err)
	}
	return r, nil
}

package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"mcprelay/shared/idempotency"
)

// keyTries bounds how often a record that is in the way may be gone, or
// forgotten, when it is looked at.
const keyTries = 3

// errKeyGone says that a record was in the way each time, and never there.
var errKeyGone = errors.New("the record in the way was gone again and again")

// BeginKey stores the record of a call that begins, where the key is unknown or
// forgotten, and gives it with true; otherwise it gives the record in the way.
func (s *Store) BeginKey(ctx context.Context, key idempotency.Key, r idempotency.Record) (idempotency.Record, bool, error) {
	fail := func(err error) (idempotency.Record, bool, error) {
		return idempotency.Record{}, false, fmt.Errorf("beginning an idempotency key: %w", err)
	}
	r, err := r.Begun(key)
	if err != nil {
		return fail(err)
	}
	for range keyTries {
		i, err := keyItem(key, r)
		if err != nil {
			return fail(err)
		}
		there, err := s.place(ctx, s.c.State, i, s.forgotten())
		switch {
		case err == nil:
			return r, true, nil
		case !errors.Is(err, errCondition):
			return fail(err)
		case there != nil && there.getNumber(attrExpiry) > s.c.Now().Unix():
			r, err = keyRecord(there)
			if err != nil {
				return fail(err)
			}
			return r, false, nil
		}
	}
	return fail(errKeyGone)
}

// EndKey stores what the call came to, or with the zero State gives the key
// back, while the stored record is a running one of the same call; otherwise
// it is [idempotency.ErrConflict]. A key that nobody has is given back already.
func (s *Store) EndKey(ctx context.Context, key idempotency.Key, r idempotency.Record) error {
	r, err := r.Ended(key)
	if err != nil {
		return fmt.Errorf("ending an idempotency key: %w", err)
	}
	i, err := keyItem(key, r)
	if err == nil {
		if r.State == "" {
			// To be forgotten now: that needs no right to delete.
			i.number(attrExpiry, s.c.Now().Unix())
		}
		var there item
		there, err = s.place(ctx, s.c.State, i, running(r))
		if errors.Is(err, errCondition) {
			if err = idempotency.ErrConflict; r.State == "" && there.getNumber(attrExpiry) <= s.c.Now().Unix() {
				err = nil // also where none is there
			}
		}
	}
	if err != nil {
		return fmt.Errorf("ending an idempotency key: %w", err)
	}
	return nil
}

// forgotten is the condition that nothing is stored, or what has expired.
func (s *Store) forgotten() condition {
	c := absent()
	c.expression += " OR #exp <= :now"
	c.names["#exp"] = attrExpiry
	c.values = item{}
	c.values.number(":now", s.c.Now().Unix())
	return c
}

// running is the condition that the record of a call is there and did not end.
func running(r idempotency.Record) condition {
	c := condition{
		expression: "#call = :call AND #state = :running",
		names:      map[string]string{"#call": attrCall, "#state": attrState}, values: item{},
	}
	c.values.text(":call", r.CallID)
	c.values.text(":running", string(idempotency.Running))
	return c
}

// keyItem is a record as an item.
func keyItem(key idempotency.Key, r idempotency.Record) (item, error) {
	body, err := json.Marshal(r)
	if err == nil {
		err = within(body)
	}
	if err != nil {
		return nil, err
	}
	i := item{}
	i.text(attrPK, string(key))
	i.text(attrBody, string(body))
	i.text(attrCall, r.CallID)
	i.text(attrState, string(r.State))
	i.number(attrVer, r.Ver)
	i.number(attrExpiry, r.Expires.Unix())
	if len(r.Reply) > 0 {
		i[attrReply] = &types.AttributeValueMemberB{Value: r.Reply}
	}
	return i, nil
}

// keyRecord reads a record out of its item.
func keyRecord(i item) (idempotency.Record, error) {
	var r idempotency.Record
	if err := json.Unmarshal([]byte(i.getText(attrBody)), &r); err != nil {
		return idempotency.Record{}, fmt.Errorf("a stored record: %w", err)
	}
	r.Ver = i.getNumber(attrVer)
	if reply, ok := i[attrReply].(*types.AttributeValueMemberB); ok {
		r.Reply = reply.Value
	}
	return r, nil
}

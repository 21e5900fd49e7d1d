package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"mcprelay/shared/turn"
)

// Turn gives the present turn of a key; the zero Turn where none is known, or
// what was known is forgotten, although it may still be in the table.
func (s *Store) Turn(ctx context.Context, key turn.Key) (turn.Turn, error) {
	at := item{}
	at.text(attrPK, string(key))
	stored, err := s.get(ctx, s.c.State, at)
	if err != nil {
		return turn.Turn{}, fmt.Errorf("reading a turn: %w", err)
	}
	if stored == nil || stored.getNumber(attrExpiry) <= s.c.Now().Unix() {
		return turn.Turn{}, nil
	}
	var t turn.Turn
	if err := json.Unmarshal([]byte(stored.getText(attrBody)), &t); err != nil {
		return turn.Turn{}, fmt.Errorf("reading a turn: %w", err)
	}
	t.Ver = stored.getNumber(attrVer)
	return t, nil
}

// PutTurn stores a turn while the stored one still has its Ver; with Ver 0,
// while none is known. It gives what is stored now, or [turn.ErrConflict].
func (s *Store) PutTurn(ctx context.Context, key turn.Key, t turn.Turn) (turn.Turn, error) {
	body, err := json.Marshal(t)
	if err == nil {
		err = within(body)
	}
	if err != nil {
		return turn.Turn{}, fmt.Errorf("storing a turn: %w", err)
	}
	c := still(attrVer, t.Ver)
	if t.Ver == 0 {
		c = s.forgotten()
	}
	// It grows with time, so that it is never one that somebody still holds of a
	// turn that was forgotten since.
	t.Ver = max(t.Ver+1, s.c.Now().UnixMicro())
	i := item{}
	i.text(attrPK, string(key))
	i.text(attrBody, string(body))
	i.number(attrVer, t.Ver)
	i.number(attrExpiry, t.Forgotten().Unix())
	err = s.put(ctx, s.c.State, i, c)
	if errors.Is(err, errCondition) {
		err = turn.ErrConflict
	}
	if err != nil {
		return turn.Turn{}, fmt.Errorf("storing a turn: %w", err)
	}
	return t, nil
}

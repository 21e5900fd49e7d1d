package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// counterTries bounds how often a counter may be another one when it is looked
// at: deleted, begun anew by somebody else, or with room again.
const counterTries = 4

// Add counts one more under a key while its count is below max, and reports
// whether it did. A key that is unknown or has expired counts from 0, and lives
// until expires from then on. Where an answer was lost the SDK asks again: a
// call that others followed meanwhile then counts twice, and one too few may be
// made. One partition takes 1,000 writes a second; a counter over that is an
// error.
func (s *Store) Add(ctx context.Context, key string, max int, expires time.Time) (bool, error) {
	if max < 1 {
		return false, nil
	}
	a := addition{store: s, key: key, max: max, expires: expires.Unix(), mark: newMark()}
	for range counterTries {
		added, full, err := a.try(ctx)
		if err != nil {
			return false, fmt.Errorf("adding to a counter: %w", err)
		}
		if added || full {
			return added, nil
		}
	}
	return false, nil // it was full each time, and then it was not
}

// addition is one call on its way into a counter. It leaves a mark, by which an
// update that the SDK repeated is told from a counter that is full.
type addition struct {
	store   *Store
	key     string
	max     int
	expires int64
	mark    *types.AttributeValueMemberB
}

// try counts the call, or says that the counter is full, or neither.
func (a addition) try(ctx context.Context) (added, full bool, err error) {
	s := a.store
	if added, err = s.update(ctx, a.key, a.more()); added || err != nil {
		return added, false, err
	}
	there, err := s.get(ctx, s.c.State, counterKey(a.key))
	switch {
	case err != nil || there == nil:
		return false, false, err
	case there.has(a.mark):
		return true, false, nil
	case there.getNumber(attrExpiry) > s.c.Now().Unix():
		return false, there.getNumber(attrCount) >= int64(a.max), nil
	}
	added, err = s.update(ctx, a.key, a.anew())
	return added, false, err
}

// Sub takes one back of a count that is there and above 0. It is asked once: an
// answer that was lost must not take back what another call has taken.
func (s *Store) Sub(ctx context.Context, key string) error {
	_, err := s.update(ctx, key, s.less(), func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return fmt.Errorf("taking back from a counter: %w", err)
	}
	return nil
}

// update is a change of one counter on a condition.
type update struct {
	expression string
	condition
}

// more counts one more of a counter that has not expired, or begins one.
func (a addition) more() update {
	u := a.store.change("SET #n = if_not_exists(#n, :zero) + :one, #exp = :exp, #w = :mark",
		"attribute_not_exists(#pk) OR (#exp > :now AND #n < :max AND #w <> :mark)")
	u.names["#pk"], u.names["#w"] = attrPK, attrMark
	u.values[":mark"] = a.mark
	u.values.number(":zero", 0)
	u.values.number(":max", int64(a.max))
	u.values.number(":exp", a.expires)
	return u
}

// anew begins a counter again that has expired.
func (a addition) anew() update {
	u := a.store.change("SET #n = :one, #exp = :exp, #w = :mark", "#exp <= :now")
	u.names["#w"] = attrMark
	u.values[":mark"] = a.mark
	u.values.number(":exp", a.expires)
	return u
}

// less takes one back of a counter that has not expired.
func (s *Store) less() update {
	u := s.change("SET #n = #n - :one", "#exp > :now AND #n > :zero")
	u.values.number(":zero", 0)
	return u
}

// change is an update with what all of them name.
func (s *Store) change(expression, on string) update {
	u := update{expression, condition{
		expression: on,
		names:      map[string]string{"#n": attrCount, "#exp": attrExpiry}, values: item{},
	}}
	u.values.number(":one", 1)
	u.values.number(":now", s.c.Now().Unix())
	return u
}

// update carries an update out and reports whether its condition held.
func (s *Store) update(ctx context.Context, key string, u update, options ...func(*dynamodb.Options)) (bool, error) {
	_, err := s.c.DynamoDB.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 &s.c.State,
		Key:                       counterKey(key),
		UpdateExpression:          &u.expression,
		ConditionExpression:       &u.condition.expression,
		ExpressionAttributeNames:  u.names,
		ExpressionAttributeValues: u.values,
	}, options...)
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		return false, nil
	}
	return err == nil, err
}

// counterKey is the key of a counter's item.
func counterKey(key string) item {
	at := item{}
	at.text(attrPK, key)
	return at
}

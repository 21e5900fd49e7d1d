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

// counterTries bounds how often a counter that has expired may be gone, or begun
// anew by somebody else, when it is looked at.
const counterTries = 4

// errCounter says that a counter was another one each time.
var errCounter = errors.New("the counter was another one again and again")

// Add counts one more under a key while its count is below max, and reports
// whether it did. A key that is unknown or has expired counts from 0, and lives
// until expires from then on. Where an answer was lost the SDK asks again, and
// one call may count twice: never one too many is allowed for that.
func (s *Store) Add(ctx context.Context, key string, max int, expires time.Time) (bool, error) {
	if max < 1 {
		return false, nil
	}
	for range counterTries {
		added, err := s.count(ctx, key, s.more(max, expires))
		if added || err != nil {
			return added, counting(err)
		}
		there, err := s.get(ctx, s.c.State, counterKey(key))
		if err != nil {
			return false, counting(err)
		}
		switch now := s.c.Now().Unix(); {
		case there == nil: // deleted in between
		case there.getNumber(attrExpiry) > now && there.getNumber(attrCount) >= int64(max):
			return false, nil
		case there.getNumber(attrExpiry) <= now:
			if added, err = s.count(ctx, key, s.anew(expires)); added || err != nil {
				return added, counting(err)
			}
		}
	}
	return false, counting(errCounter)
}

// Sub takes one back of a count that is there and above 0. It is asked once: an
// answer that was lost must not take back what another call has taken.
func (s *Store) Sub(ctx context.Context, key string) error {
	u := update{expression: "SET #n = #n - :one"}
	u.expression, u.condition = u.expression, condition{
		expression: "#n > :zero AND #exp > :now",
		names:      map[string]string{"#n": attrCount, "#exp": attrExpiry}, values: item{},
	}
	u.condition.values.number(":one", 1)
	u.condition.values.number(":zero", 0)
	u.condition.values.number(":now", s.c.Now().Unix())
	_, err := s.count(ctx, key, u, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		return fmt.Errorf("taking back from a counter: %w", err)
	}
	return nil
}

func counting(err error) error {
	if err != nil {
		return fmt.Errorf("adding to a counter: %w", err)
	}
	return nil
}

// update is a change of one counter on a condition.
type update struct {
	expression string
	condition
}

// more counts one more of a counter that has not expired, or begins one.
func (s *Store) more(max int, expires time.Time) update {
	u := update{"SET #n = if_not_exists(#n, :zero) + :one, #exp = :exp", condition{
		expression: "attribute_not_exists(#pk) OR (#exp > :now AND #n < :max)",
		names:      map[string]string{"#pk": attrPK, "#n": attrCount, "#exp": attrExpiry}, values: item{},
	}}
	u.values.number(":zero", 0)
	u.values.number(":one", 1)
	u.values.number(":max", int64(max))
	u.values.number(":now", s.c.Now().Unix())
	u.values.number(":exp", expires.Unix())
	return u
}

// anew begins a counter again that has expired.
func (s *Store) anew(expires time.Time) update {
	u := update{"SET #n = :one, #exp = :exp", condition{
		expression: "#exp <= :now",
		names:      map[string]string{"#n": attrCount, "#exp": attrExpiry}, values: item{},
	}}
	u.values.number(":one", 1)
	u.values.number(":now", s.c.Now().Unix())
	u.values.number(":exp", expires.Unix())
	return u
}

// count carries an update out and reports whether its condition held.
func (s *Store) count(ctx context.Context, key string, u update, options ...func(*dynamodb.Options)) (bool, error) {
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

func counterKey(key string) item {
	at := item{}
	at.text(attrPK, key)
	return at
}

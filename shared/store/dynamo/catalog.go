package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"mcprelay/shared/catalog"
)

// The sort keys of a catalog. A catalog is one item a tool, all of one
// generation, and the item that names the generation which holds.
const (
	sortActive = "ACTIVE"
	sortTool   = "V#" // and the generation, the border, and the place in the list
)

// catalogReads is how often a catalog is read that is replaced meanwhile. A
// replacement takes longer than a read, so the second finds it whole.
const catalogReads = 4

// errReplaced says that a catalog was never found whole.
var errReplaced = errors.New("it was replaced again and again while it was read")

// header is what is kept of a catalog beside its tools.
type header struct {
	Origin   string         `json:"origin,omitempty"`
	Acquired time.Time      `json:"acquired,omitzero"`
	Skips    []catalog.Skip `json:"skips,omitempty"`
}

// Catalog gives the stored catalog of a server, whole: the one that holds, or
// one that another has replaced since; the zero Catalog where none is stored.
// Of one whose tools are gone it gives the version alone, which it can be
// replaced by.
func (s *Store) Catalog(ctx context.Context, tenant, server string) (catalog.Catalog, error) {
	var missing string
	for range catalogReads {
		active, err := s.get(ctx, s.c.Registry, catalogKey(tenant, server, sortActive))
		if err != nil {
			return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, err)
		}
		if active == nil {
			return catalog.Catalog{}, nil
		}
		generation := active.getText(attrGeneration)
		if generation == missing {
			return catalog.Catalog{Version: active.getNumber(attrRev)}, nil
		}
		c, err := s.toolsOf(ctx, tenant, server, active)
		if !errors.Is(err, errReplaced) {
			return c, err
		}
		missing = generation
	}
	return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, errReplaced)
}

// toolsOf is the catalog that an ACTIVE item names, or errReplaced where not
// all of its tools are there.
func (s *Store) toolsOf(ctx context.Context, tenant, server string, active item) (catalog.Catalog, error) {
	fail := func(err error) (catalog.Catalog, error) {
		return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, err)
	}
	var h header
	text, err := active.unpack()
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	if err != nil {
		return fail(err)
	}
	items, err := s.generation(ctx, tenant, server, active.getText(attrGeneration))
	if err != nil {
		return fail(err)
	}
	if int64(len(items)) != active.getNumber(attrCount) {
		return fail(errReplaced)
	}
	c := catalog.Catalog{Origin: h.Origin, Acquired: h.Acquired, Skips: h.Skips, Version: active.getNumber(attrRev)}
	for _, i := range items {
		raw, err := i.unpack()
		if err != nil {
			return fail(err)
		}
		c.Tools = append(c.Tools, catalog.Tool{Name: i.getText(attrTool), Raw: raw})
	}
	return c, nil
}

// generation reads the items of one generation in the order of the list.
func (s *Store) generation(ctx context.Context, tenant, server, generation string) ([]item, error) {
	values := catalogKey(tenant, server, partition(sortTool+generation, ""))
	return s.query(ctx, &dynamodb.QueryInput{
		TableName:                 &s.c.Registry,
		ConsistentRead:            aws.Bool(true),
		KeyConditionExpression:    aws.String("#pk = :pk AND begins_with(#sk, :sk)"),
		ExpressionAttributeNames:  map[string]string{"#pk": attrPK, "#sk": attrSK},
		ExpressionAttributeValues: item{":pk": values[attrPK], ":sk": values[attrSK]},
	})
}

// query reads every page of a question.
func (s *Store) query(ctx context.Context, in *dynamodb.QueryInput) (items []item, err error) {
	for {
		out, err := s.c.DynamoDB.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, i := range out.Items {
			items = append(items, i)
		}
		if len(out.LastEvaluatedKey) == 0 {
			return items, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func catalogKey(tenant, server, sort string) item {
	key := item{}
	key.text(attrPK, partition("C", name(tenant), name(server)))
	key.text(attrSK, sort)
	return key
}

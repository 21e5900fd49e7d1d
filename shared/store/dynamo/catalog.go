package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"mcprelay/shared/catalog"
)

// The sort keys of a catalog. A catalog is one item a descriptor and one for
// its pins, all of one generation, and the item that names the generation
// which holds.
const (
	sortActive = "ACTIVE"
	// With the generation, the border and the place. Parts of the format 0 have
	// V#, and relays of that format take whatever has it for a tool.
	sortPart = "W#"
)

// catalogFormat is the format of the catalogs that this relay writes and
// reads. Those of 0 hold tools only, without the digests that pins are compared
// with.
const catalogFormat = 1

// listPins is what the item of the pins has in the place of a list.
const listPins = "pins"

// catalogReads is how often a catalog is read that is replaced meanwhile. A
// replacement takes longer than a read, so the second finds it whole.
const catalogReads = 4

// errReplaced says that a catalog was never found whole.
var errReplaced = errors.New("it was replaced again and again while it was read")

// Catalog gives the stored catalog of a server, whole: the one that holds, or
// one that another has replaced since; the zero Catalog where none is stored.
// Of one whose parts are gone, or which a relay stored that knew tools only, it
// gives the version alone, which it can be replaced by.
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
		if generation == missing || active.getNumber(attrFormat) != catalogFormat {
			return catalog.Catalog{Version: active.getNumber(attrRev)}, nil
		}
		c, err := s.partsOf(ctx, tenant, server, active)
		if !errors.Is(err, errReplaced) {
			return c, err
		}
		missing = generation
	}
	return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, errReplaced)
}

// partsOf is the catalog that an ACTIVE item names, or errReplaced where not
// all of its parts are there.
func (s *Store) partsOf(ctx context.Context, tenant, server string, active item) (catalog.Catalog, error) {
	fail := func(err error) (catalog.Catalog, error) {
		return catalog.Catalog{}, fmt.Errorf("catalog of %.64q: %w", server, err)
	}
	c := catalog.Catalog{}
	if err := active.unpackJSON(&c); err != nil {
		return fail(err)
	}
	items, err := s.generation(ctx, tenant, server, active.getText(attrGeneration))
	if err != nil {
		return fail(err)
	}
	if int64(len(items)) != active.getNumber(attrCount) {
		return fail(errReplaced)
	}
	for _, i := range items {
		if i.getText(attrList) == listPins {
			err = i.unpackJSON(&c.Pins)
		} else {
			err = i.addTo(&c)
		}
		if err != nil {
			return fail(err)
		}
	}
	c.Version = active.getNumber(attrRev)
	return c, nil
}

// generation reads the items of one generation in the order of the list.
func (s *Store) generation(ctx context.Context, tenant, server, generation string) ([]item, error) {
	values := catalogKey(tenant, server, partition(sortPart+generation, ""))
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

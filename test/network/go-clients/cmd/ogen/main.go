// Command ogen signs a message and lists the requests by a client of ogen. It prints the signed message and the outcomes.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/ogen-go/ogen/ogenerrors"

	"warp-signature-aggregator/test/network/go-clients/gen/ogen"
)

// Requests need no key.
type withoutKey struct{}

func (withoutKey) GlacierApiKey(context.Context, ogen.OperationName) (ogen.GlacierApiKey, error) {
	return ogen.GlacierApiKey{}, ogenerrors.ErrSkipClientSecurity
}

func (withoutKey) ServiceApiKey(context.Context, ogen.OperationName) (ogen.ServiceApiKey, error) {
	return ogen.ServiceApiKey{}, ogenerrors.ErrSkipClientSecurity
}

func main() {
	client, err := ogen.NewClient(os.Args[1], withoutKey{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	request := &ogen.AggregationRequest{Message: ogen.NewOptString(os.Args[2])}
	answer, err := client.AggregateSignatures(ctx, request, ogen.AggregateSignaturesParams{Network: "fuji"})
	if err != nil {
		log.Fatal(err)
	}
	signed, isSigned := answer.(*ogen.SignedMessageHeaders)
	if !isSigned {
		log.Fatalf("%#v", answer)
	}
	records, err := client.ListRequests(ctx, ogen.ListRequestsParams{})
	if err != nil {
		log.Fatal(err)
	}
	list, isList := records.(*ogen.RequestListHeaders)
	if !isList {
		log.Fatalf("%#v", records)
	}
	fmt.Println(signed.Response.SignedMessage)
	for _, record := range list.Response.Requests {
		fmt.Println(record.Outcome, record.EndedAt)
	}
}

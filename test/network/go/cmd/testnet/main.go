// Command testnet issues the transactions of a local test network and verifies signed Warp messages with the
// reference implementation.
//
// It speaks JSON lines: a request {"id", "method", "params"} on stdin, an answer {"id", "result"} or {"id", "error"} on
// stdout, in the order in which they finish. Its log goes to stderr. When stdin ends (also because whoever started it
// is gone, however that happened) it kills the process groups it was told to guard and removes the scratch directory.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// maxLine bounds one request: the longest carries a signed message of some 24 KiB of payload, in hex.
	maxLine = 1 << 20
	// requestTimeout bounds one request: a transaction is accepted in a second or two, on a busy machine in several.
	requestTimeout = 60 * time.Second
)

type request struct {
	ID     uint64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type response struct {
	ID     uint64 `json:"id"`
	Result any    `json:"result,omitempty"`
	Error  string `json:"error,omitempty"`
}

type method func(ctx context.Context, params json.RawMessage) (any, error)

// decoded makes a method of a function with typed parameters; an unknown parameter is an error.
func decoded[P, R any](handle func(context.Context, P) (R, error)) method {
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var params P
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&params); err != nil {
			return nil, fmt.Errorf("params: %w", err)
		}
		return handle(ctx, params)
	}
}

// hexBytes are bytes that travel as hex with a 0x prefix; the prefix is optional on the way in.
type hexBytes []byte

func (b hexBytes) MarshalText() ([]byte, error) {
	return []byte("0x" + hex.EncodeToString(b)), nil
}

func (b *hexBytes) UnmarshalText(text []byte) error {
	decoded, err := hex.DecodeString(strings.TrimPrefix(string(text), "0x"))
	*b = decoded
	return err
}

// guard holds the process groups that must not outlive the process that started them.
type guard struct {
	mu     sync.Mutex
	groups map[int]struct{}
}

type guardParams struct {
	PID int `json:"pid"`
}

var errNotAGroup = errors.New("pid must be that of a process group's leader")

func (g *guard) add(_ context.Context, params guardParams) (struct{}, error) {
	if params.PID <= 1 { // -1 would be every process there is
		return struct{}{}, errNotAGroup
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.groups[params.PID] = struct{}{}
	return struct{}{}, nil
}

func (g *guard) remove(_ context.Context, params guardParams) (struct{}, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.groups, params.PID)
	return struct{}{}, nil
}

func (g *guard) killAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for pid := range g.groups {
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			log.Printf("kill process group %d: %v", pid, err)
		}
	}
}

func serve(ctx context.Context, in io.Reader, out io.Writer, methods map[string]method) error {
	var (
		mu      sync.Mutex
		encoder = json.NewEncoder(out)
		scanner = bufio.NewScanner(in)
	)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		var req request
		if err := json.Unmarshal(scanner.Bytes(), &req); err != nil {
			return fmt.Errorf("request line: %w", err)
		}
		go func() {
			requestCtx, cancel := context.WithTimeout(ctx, requestTimeout)
			defer cancel()

			res := response{ID: req.ID}
			if handle, ok := methods[req.Method]; !ok {
				res.Error = fmt.Sprintf("no method %q", req.Method)
			} else if result, err := handle(requestCtx, req.Params); err != nil {
				res.Error = err.Error()
			} else {
				res.Result = result
			}

			mu.Lock()
			defer mu.Unlock()
			if err := encoder.Encode(res); err != nil {
				log.Printf("answer to %s: %v", req.Method, err)
			}
		}()
	}
	return scanner.Err()
}

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	scratch := flag.String("scratch", "", "directory to remove at the end")
	flag.Parse()

	var (
		guarded = guard{groups: make(map[int]struct{})}
		pchain  = &pChain{}
		xchain  = &xChain{}
		evms    = &evmChains{}
	)
	err := serve(context.Background(), os.Stdin, os.Stdout, map[string]method{
		"guard":   decoded(guarded.add),
		"unguard": decoded(guarded.remove),

		"createSubnet":               decoded(pchain.createSubnet),
		"createEVMChain":             decoded(pchain.createEVMChain),
		"convertSubnetToL1":          decoded(pchain.convertSubnetToL1),
		"registerL1Validator":        decoded(pchain.registerL1Validator),
		"setL1ValidatorWeight":       decoded(pchain.setL1ValidatorWeight),
		"disableL1Validator":         decoded(pchain.disableL1Validator),
		"increaseL1ValidatorBalance": decoded(pchain.increaseL1ValidatorBalance),
		"advancePChain":              decoded(pchain.advance),
		"payOnXChain":                decoded(xchain.pay),

		"registerL1ValidatorPayload": decoded(registerL1ValidatorPayload),
		"l1ValidatorWeightPayload":   decoded(l1ValidatorWeightPayload),
		"pChainMessage":              decoded(pChainMessage),
		"verify":                     decoded(verify),

		"sendWarpMessages": decoded(evms.sendWarpMessages),
		"signWarpMessages": decoded(evms.signWarpMessages),
		"createContract":   decoded(evms.createContract),
		"blockHashMessage": decoded(evms.blockHashMessage),
		"readWarpMessage":  decoded(evms.readWarpMessage),
	})

	guarded.killAll()
	if *scratch != "" {
		if err := os.RemoveAll(*scratch); err != nil {
			log.Printf("remove %s: %v", *scratch, err)
		}
	}
	if err != nil {
		log.Fatalf("testnet: %v", err)
	}
}

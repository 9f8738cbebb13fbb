package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/units"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary/common"
)

// xChain issues X-Chain transactions, paid by the well-known key of local networks: one at a time, or two would spend
// the same UTXO.
type xChain struct {
	mu sync.Mutex
}

type payParams struct {
	URI string `json:"uri"`
	// Owner is the 20 bytes of an address. It should not be the well-known key's: the wallet would spend what it was paid.
	Owner hexBytes `json:"owner"`
	// Outputs is how many UTXOs to make, of one µAVAX each.
	Outputs int `json:"outputs"`
}

// pay makes UTXOs on the X-Chain in one transaction, which has at most 64 KiB: some 800 of them.
func (c *xChain) pay(ctx context.Context, params payParams) (issuedTx, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	owner, err := ids.ToShortID(params.Owner)
	if err != nil {
		return issuedTx{}, fmt.Errorf("owner: %w", err)
	}
	keychain := secp256k1fx.NewKeychain(genesis.EWOQKey)
	w, err := primary.MakeWallet(ctx, params.URI, keychain, keychain, primary.WalletConfig{})
	if err != nil {
		return issuedTx{}, fmt.Errorf("wallet: %w", err)
	}
	outputs := make([]*avax.TransferableOutput, params.Outputs)
	for i := range outputs {
		outputs[i] = &avax.TransferableOutput{
			Asset: avax.Asset{ID: w.X().Builder().Context().AVAXAssetID},
			Out: &secp256k1fx.TransferOutput{
				Amt:          units.MicroAvax,
				OutputOwners: secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{owner}},
			},
		}
	}
	tx, err := w.X().IssueBaseTx(outputs, common.WithContext(ctx))
	if err != nil {
		return issuedTx{}, err
	}
	return issuedTx{TxID: tx.ID()}, nil
}

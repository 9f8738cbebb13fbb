package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/ava-labs/avalanchego/api/info"
	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/units"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/chain/p/wallet"
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

func (p payParams) outputs(assetID ids.ID) ([]*avax.TransferableOutput, error) {
	owner, err := ids.ToShortID(p.Owner)
	if err != nil {
		return nil, fmt.Errorf("owner: %w", err)
	}
	outputs := make([]*avax.TransferableOutput, p.Outputs)
	for i := range outputs {
		outputs[i] = &avax.TransferableOutput{
			Asset: avax.Asset{ID: assetID},
			Out: &secp256k1fx.TransferOutput{
				Amt:          units.MicroAvax,
				OutputOwners: secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{owner}},
			},
		}
	}
	return outputs, nil
}

// pay makes UTXOs on the X-Chain in one transaction, which has at most 64 KiB: some 800 of them.
func (c *xChain) pay(ctx context.Context, params payParams) (issuedTx, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	keychain := secp256k1fx.NewKeychain(genesis.EWOQKey)
	w, err := primary.MakeWallet(ctx, params.URI, keychain, keychain, primary.WalletConfig{})
	if err != nil {
		return issuedTx{}, fmt.Errorf("wallet: %w", err)
	}
	outputs, err := params.outputs(w.X().Builder().Context().AVAXAssetID)
	if err != nil {
		return issuedTx{}, err
	}
	tx, err := w.X().IssueBaseTx(outputs, common.WithContext(ctx))
	if err != nil {
		return issuedTx{}, err
	}
	return issuedTx{TxID: tx.ID()}, nil
}

// exportToXChain makes atomic UTXOs, which the X-Chain could import.
func (c *pChain) exportToXChain(ctx context.Context, params payParams) (issuedTx, error) {
	xChainID, err := info.NewClient(params.URI).GetBlockchainID(ctx, "X")
	if err != nil {
		return issuedTx{}, err
	}
	return txIDOf(c.issue(ctx, params.URI, primary.WalletConfig{}, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		outputs, err := params.outputs(w.Builder().Context().AVAXAssetID)
		if err != nil {
			return nil, err
		}
		return w.IssueExportTx(xChainID, outputs, option)
	}))
}

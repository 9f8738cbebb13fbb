package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"sync"

	"github.com/ava-labs/avalanchego/genesis"
	"github.com/ava-labs/avalanchego/ids"
	"github.com/ava-labs/avalanchego/utils/constants"
	"github.com/ava-labs/avalanchego/utils/crypto/bls"
	"github.com/ava-labs/avalanchego/utils/units"
	"github.com/ava-labs/avalanchego/vms/components/avax"
	"github.com/ava-labs/avalanchego/vms/platformvm"
	"github.com/ava-labs/avalanchego/vms/platformvm/signer"
	"github.com/ava-labs/avalanchego/vms/platformvm/txs"
	"github.com/ava-labs/avalanchego/vms/platformvm/warp/message"
	"github.com/ava-labs/avalanchego/vms/secp256k1fx"
	"github.com/ava-labs/avalanchego/wallet/chain/p"
	"github.com/ava-labs/avalanchego/wallet/chain/p/builder"
	"github.com/ava-labs/avalanchego/wallet/chain/p/wallet"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary"
	"github.com/ava-labs/avalanchego/wallet/subnet/primary/common"

	avajson "github.com/ava-labs/avalanchego/utils/json"
	walletsigner "github.com/ava-labs/avalanchego/wallet/chain/p/signer"
)

// pChain issues P-Chain transactions, paid and authorised by the well-known key of local networks.
//
// Each one starts with the UTXOs as the node sees them, so the node may be another one each time; but one at a time,
// or two would spend the same UTXO.
type pChain struct {
	mu sync.Mutex
}

func ownerOfEverything() secp256k1fx.OutputOwners {
	return secp256k1fx.OutputOwners{Threshold: 1, Addrs: []ids.ShortID{genesis.EWOQKey.Address()}}
}

func pChainOwnerOfEverything() message.PChainOwner {
	return message.PChainOwner{Threshold: 1, Addresses: []ids.ShortID{genesis.EWOQKey.Address()}}
}

type issuedTx struct {
	TxID ids.ID `json:"txID"`
}

func (c *pChain) issue(
	ctx context.Context,
	uri string,
	config primary.WalletConfig,
	issueTx func(wallet.Wallet, common.Option) (*txs.Tx, error),
) (*txs.Tx, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	w, err := newWallet(ctx, uri, config)
	if err != nil {
		return nil, fmt.Errorf("wallet: %w", err)
	}
	return issueTx(w, common.WithContext(ctx))
}

// newWallet is primary.MakePWallet but for the order in which it spends: by ID instead of at random. The same
// transactions on a fresh network so have the same IDs, and nodes can track a subnet before it exists.
func newWallet(ctx context.Context, uri string, config primary.WalletConfig) (wallet.Wallet, error) {
	keychain := secp256k1fx.NewKeychain(genesis.EWOQKey)
	client, walletContext, utxos, err := primary.FetchPState(ctx, uri, keychain.Addresses())
	if err != nil {
		return nil, err
	}
	owners, err := platformvm.GetOwners(client, ctx, config.SubnetIDs, config.ValidationIDs)
	if err != nil {
		return nil, err
	}
	ordered := orderedUTXOs{common.NewChainUTXOs(constants.PlatformChainID, utxos)}
	backend := wallet.NewBackend(ordered, owners)
	return wallet.New(
		p.NewClient(client, backend),
		builder.New(keychain.Addresses(), walletContext, backend),
		walletsigner.New(keychain, backend),
	), nil
}

type orderedUTXOs struct {
	common.ChainUTXOs
}

func (o orderedUTXOs) UTXOs(ctx context.Context, sourceChainID ids.ID) ([]*avax.UTXO, error) {
	utxos, err := o.ChainUTXOs.UTXOs(ctx, sourceChainID)
	slices.SortFunc(utxos, func(a, b *avax.UTXO) int { return a.InputID().Compare(b.InputID()) })
	return utxos, err
}

type createSubnetParams struct {
	URI string `json:"uri"`
}

type createSubnetResult struct {
	SubnetID ids.ID `json:"subnetID"`
}

func (c *pChain) createSubnet(ctx context.Context, params createSubnetParams) (createSubnetResult, error) {
	tx, err := c.issue(ctx, params.URI, primary.WalletConfig{}, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		owner := ownerOfEverything()
		return w.IssueCreateSubnetTx(&owner, option)
	})
	if err != nil {
		return createSubnetResult{}, err
	}
	return createSubnetResult{SubnetID: tx.ID()}, nil
}

type createEVMChainParams struct {
	URI        string `json:"uri"`
	SubnetID   ids.ID `json:"subnetID"`
	Name       string `json:"name"`
	EVMChainID uint64 `json:"evmChainID"`
	// RequirePrimaryNetworkSigners has the chain verify messages of the C- and X-Chain against the primary network.
	RequirePrimaryNetworkSigners bool `json:"requirePrimaryNetworkSigners"`
}

type createEVMChainResult struct {
	BlockchainID ids.ID `json:"blockchainID"`
}

func (c *pChain) createEVMChain(ctx context.Context, params createEVMChainParams) (createEVMChainResult, error) {
	genesisBytes, err := json.Marshal(evmGenesis(params))
	if err != nil {
		return createEVMChainResult{}, err
	}
	config := primary.WalletConfig{SubnetIDs: []ids.ID{params.SubnetID}}
	tx, err := c.issue(ctx, params.URI, config, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		return w.IssueCreateChainTx(params.SubnetID, genesisBytes, constants.SubnetEVMID, nil, params.Name, option)
	})
	if err != nil {
		return createEVMChainResult{}, err
	}
	return createEVMChainResult{BlockchainID: tx.ID()}, nil
}

type object = map[string]any

// evmGenesis is that of a subnet-evm chain with the Warp precompile, which verifies messages of the primary network
// against its own validators unless the parameters say otherwise, and with funds for the well-known key.
func evmGenesis(params createEVMChainParams) object {
	const zeroHash = "0x0000000000000000000000000000000000000000000000000000000000000000"
	// Any time after the upgrades of a local network and before now will do.
	const startOfTime = 1_607_144_400
	funds := new(big.Int).Mul(big.NewInt(1_000_000), big.NewInt(1e18))
	return object{
		"config": object{
			"chainId":             params.EVMChainID,
			"homesteadBlock":      0,
			"eip150Block":         0,
			"eip155Block":         0,
			"eip158Block":         0,
			"byzantiumBlock":      0,
			"constantinopleBlock": 0,
			"petersburgBlock":     0,
			"istanbulBlock":       0,
			"muirGlacierBlock":    0,
			"feeConfig": object{
				"gasLimit":                 20_000_000,
				"minBaseFee":               1_000_000_000,
				"targetGas":                100_000_000,
				"baseFeeChangeDenominator": 48,
				"minBlockGasCost":          0,
				"maxBlockGasCost":          10_000_000,
				"targetBlockRate":          2,
				"blockGasCostStep":         500_000,
			},
			"warpConfig": object{
				"blockTimestamp":               startOfTime,
				"quorumNumerator":              67,
				"requirePrimaryNetworkSigners": params.RequirePrimaryNetworkSigners,
			},
		},
		"alloc": object{
			genesis.EWOQKey.EthAddress().Hex(): object{"balance": "0x" + funds.Text(16)},
		},
		"nonce":      "0x0",
		"timestamp":  fmt.Sprintf("0x%x", startOfTime),
		"extraData":  "0x00",
		"gasLimit":   "0x1312d00", // as feeConfig says
		"difficulty": "0x0",
		"mixHash":    zeroHash,
		"coinbase":   "0x0000000000000000000000000000000000000000",
		"number":     "0x0",
		"gasUsed":    "0x0",
		"parentHash": zeroHash,
	}
}

type l1Validator struct {
	NodeID  ids.NodeID               `json:"nodeID"`
	NodePOP signer.ProofOfPossession `json:"nodePOP"`
	Weight  avajson.Uint64           `json:"weight"`
	Balance avajson.Uint64           `json:"balance"`
}

type convertParams struct {
	URI            string        `json:"uri"`
	SubnetID       ids.ID        `json:"subnetID"`
	ManagerChainID ids.ID        `json:"managerChainID"`
	Validators     []l1Validator `json:"validators"`
}

type convertResult struct {
	TxID ids.ID `json:"txID"`
	// Message is the P-Chain's unsigned SubnetToL1Conversion, Justification what its signers ask for.
	Message       hexBytes              `json:"message"`
	Justification hexBytes              `json:"justification"`
	ValidationIDs map[ids.NodeID]ids.ID `json:"validationIDs"`
}

// convertSubnetToL1 makes the account of the well-known key, on the chain managerChainID, the validator manager: the
// Warp precompile sets a message's source address to its caller, so no contract is needed.
func (c *pChain) convertSubnetToL1(ctx context.Context, params convertParams) (convertResult, error) {
	manager := genesis.EWOQKey.EthAddress().Bytes()
	validators := make([]*txs.ConvertSubnetToL1Validator, len(params.Validators))
	for i, v := range params.Validators {
		validators[i] = &txs.ConvertSubnetToL1Validator{
			NodeID:                v.NodeID.Bytes(),
			Weight:                uint64(v.Weight),
			Balance:               uint64(v.Balance),
			Signer:                v.NodePOP,
			RemainingBalanceOwner: pChainOwnerOfEverything(),
			DeactivationOwner:     pChainOwnerOfEverything(),
		}
	}

	config := primary.WalletConfig{SubnetIDs: []ids.ID{params.SubnetID}}
	tx, err := c.issue(ctx, params.URI, config, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		return w.IssueConvertSubnetToL1Tx(params.SubnetID, params.ManagerChainID, manager, validators, option)
	})
	if err != nil {
		return convertResult{}, err
	}

	// The transaction holds the validators in the order that counts.
	utx, ok := tx.Unsigned.(*txs.ConvertSubnetToL1Tx)
	if !ok {
		return convertResult{}, fmt.Errorf("issued a %T", tx.Unsigned)
	}
	data := message.SubnetToL1ConversionData{
		SubnetID:       params.SubnetID,
		ManagerChainID: params.ManagerChainID,
		ManagerAddress: manager,
	}
	validationIDs := make(map[ids.NodeID]ids.ID, len(utx.Validators))
	for i, v := range utx.Validators {
		nodeID, err := ids.ToNodeID(v.NodeID)
		if err != nil {
			return convertResult{}, err
		}
		validationIDs[nodeID] = params.SubnetID.Append(uint32(i))
		data.Validators = append(data.Validators, message.SubnetToL1ConversionValidatorData{
			NodeID:       v.NodeID,
			BLSPublicKey: v.Signer.PublicKey,
			Weight:       v.Weight,
		})
	}
	conversionID, err := message.SubnetToL1ConversionID(data)
	if err != nil {
		return convertResult{}, err
	}
	conversion, err := message.NewSubnetToL1Conversion(conversionID)
	if err != nil {
		return convertResult{}, err
	}
	unsigned, err := newPChainMessage(utx.NetworkID, conversion.Bytes())
	if err != nil {
		return convertResult{}, err
	}
	return convertResult{
		TxID:          tx.ID(),
		Message:       unsigned,
		Justification: params.SubnetID[:],
		ValidationIDs: validationIDs,
	}, nil
}

type registerL1ValidatorParams struct {
	URI               string         `json:"uri"`
	SignedMessage     hexBytes       `json:"signedMessage"`
	ProofOfPossession hexBytes       `json:"proofOfPossession"`
	Balance           avajson.Uint64 `json:"balance"`
}

func (c *pChain) registerL1Validator(ctx context.Context, params registerL1ValidatorParams) (issuedTx, error) {
	if len(params.ProofOfPossession) != bls.SignatureLen {
		return issuedTx{}, fmt.Errorf("proofOfPossession has %d bytes", len(params.ProofOfPossession))
	}
	return txIDOf(c.issue(ctx, params.URI, primary.WalletConfig{}, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		return w.IssueRegisterL1ValidatorTx(
			uint64(params.Balance),
			[bls.SignatureLen]byte(params.ProofOfPossession),
			params.SignedMessage,
			option,
		)
	}))
}

type setL1ValidatorWeightParams struct {
	URI           string   `json:"uri"`
	SignedMessage hexBytes `json:"signedMessage"`
}

func (c *pChain) setL1ValidatorWeight(ctx context.Context, params setL1ValidatorWeightParams) (issuedTx, error) {
	return txIDOf(c.issue(ctx, params.URI, primary.WalletConfig{}, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		return w.IssueSetL1ValidatorWeightTx(params.SignedMessage, option)
	}))
}

type disableL1ValidatorParams struct {
	URI          string `json:"uri"`
	ValidationID ids.ID `json:"validationID"`
}

func (c *pChain) disableL1Validator(ctx context.Context, params disableL1ValidatorParams) (issuedTx, error) {
	config := primary.WalletConfig{ValidationIDs: []ids.ID{params.ValidationID}}
	return txIDOf(c.issue(ctx, params.URI, config, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		return w.IssueDisableL1ValidatorTx(params.ValidationID, option)
	}))
}

type increaseL1ValidatorBalanceParams struct {
	URI          string         `json:"uri"`
	ValidationID ids.ID         `json:"validationID"`
	Balance      avajson.Uint64 `json:"balance"`
}

func (c *pChain) increaseL1ValidatorBalance(ctx context.Context, params increaseL1ValidatorBalanceParams) (issuedTx, error) {
	return txIDOf(c.issue(ctx, params.URI, primary.WalletConfig{}, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		return w.IssueIncreaseL1ValidatorBalanceTx(params.ValidationID, uint64(params.Balance), option)
	}))
}

type advanceParams struct {
	URI string `json:"uri"`
}

// advance issues a payment of the well-known key to itself: the least that makes a P-Chain block.
func (c *pChain) advance(ctx context.Context, params advanceParams) (issuedTx, error) {
	return txIDOf(c.issue(ctx, params.URI, primary.WalletConfig{}, func(w wallet.Wallet, option common.Option) (*txs.Tx, error) {
		return w.IssueBaseTx([]*avax.TransferableOutput{{
			Asset: avax.Asset{ID: w.Builder().Context().AVAXAssetID},
			Out:   &secp256k1fx.TransferOutput{Amt: units.MicroAvax, OutputOwners: ownerOfEverything()},
		}}, option)
	}))
}

func txIDOf(tx *txs.Tx, err error) (issuedTx, error) {
	if err != nil {
		return issuedTx{}, err
	}
	return issuedTx{TxID: tx.ID()}, nil
}

import { EMPTY_ID } from '../../../../src/warp/ids.ts';

const OWNER = { locktime: 0, threshold: 1, addresses: ['P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u'] };
const TX_ID = '2wiU5PnFTjTmoAXGZutHAsPF36qGGyLHYHj9G1Aucfmb3JFFGN';

/**
 * The P-Chain's transactions of auto-renewed validators, since Helicon: unsigned bytes as in the reference's own tests (avalanchego v1.15.0
 * `vms/platformvm/txs/*_auto_renewed_*_tx_test.go`), and the fields of their JSON.
 */
export const HELICON_TRANSACTIONS = [
  {
    name: 'AddAutoRenewedValidatorTx',
    hex:
      '0000000000280000000100000000000000000000000000000000000000000000000000000000000000000000000000000001ffeeddccbb' +
      'aa9988ffeeddccbbaa9988ffeeddccbbaa9988ffeeddccbbaa99880000000121e67317cbc4be2aeb00677ad6462778a8f52274b9d605df' +
      '2591b23027a87dff00000005000001d1a94a20000000000100000001000000000000001411223344556677881122334455667788112233' +
      '440000001caff4acb4c5439b5d426cadf9e946d3a452f7de3414d1ad27336133211d8b90cf49fb97eebcdeeef714dc20f54ed0d4d18cfd' +
      '7909d153b9604b62b143ba36207bb7e64867424480202a67dc68768346d95c90983c2d279c64c43c51136b2a05e01602d52aa6376fda17' +
      'fa6e2a18a083e49d9c450eab7b89b1d5555da5c489872e02b7e5227b77550af1330e5a71f8c3680000000121e67317cbc4be2aeb00677a' +
      'd6462778a8f52274b9d605df2591b23027a87dff00000007000001d1a94a200000000000000000000000000100000001445566778899aa' +
      'bb445566778899aabb445566770000000b00000000000000000000000100000001445566778899aabb445566778899aabb445566770000' +
      '000b00000000000000000000000100000001445566778899aabb445566778899aabb445566770000000b00000000000000000000000100' +
      '000001445566778899aabb445566778899aabb44556677000f42400007a120000000000107ac00',
    json: {
      ...{ networkID: 1, blockchainID: EMPTY_ID, outputs: [], inputs: [], memo: '0x' },
      nodeID: 'NodeID-2ZbTY9GatRTrfinAoYiYLcf6CvrPAUYgo',
      signer: { publicKey: '0xaff4', proofOfPossession: '0x8cf4' },
      stake: [],
      validationRewardsOwner: OWNER,
      delegationRewardsOwner: OWNER,
      validatorAuthority: OWNER,
      delegationShares: 1_000_000,
      autoCompoundRewardShares: 500_000,
      period: 17_280_000,
    },
  },
  {
    name: 'SetAutoRenewedValidatorConfigTx',
    hex:
      '0000000000290000000100000000000000000000000000000000000000000000000000000000000000000000000000000001ffeeddccbb' +
      'aa9988ffeeddccbbaa9988ffeeddccbbaa9988ffeeddccbbaa99880000000121e67317cbc4be2aeb00677ad6462778a8f52274b9d605df' +
      '2591b23027a87dff00000005000001d1a94a2000000000010000000100000000ffeeddccbbaa9988ffeeddccbbaa9988ffeeddccbbaa99' +
      '88ffeeddccbbaa99880000000a00000001000000010007a120000000000107ac00',
    json: {
      ...{ networkID: 1, blockchainID: EMPTY_ID, outputs: [], inputs: [], memo: '0x' },
      txID: TX_ID,
      auth: { signatureIndices: [0] },
      autoCompoundRewardShares: 500_000,
      period: 17_280_000,
    },
  },
  {
    name: 'RewardAutoRenewedValidatorTx',
    hex: '00000000002affeeddccbbaa9988ffeeddccbbaa9988ffeeddccbbaa9988ffeeddccbbaa998800000000499602d2',
    json: { txID: TX_ID, timestamp: 1_234_567_890 },
  },
] as const;

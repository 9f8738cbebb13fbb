import type { ReadinessBody } from './routes/health.ts';
import type { DecodeResult } from './routes/messages.ts';
import type { SubnetListBody, SubnetViewBody } from './subnet-records.ts';
import type { VerificationResult } from './verification-record.ts';

/** Answers of routes as a service gave them, on the embedded network with five validators. */

const PRIMARY_NETWORK = '11111111111111111111111111111111LpoYY';
const WEIGHT = '8750002336657926';
const SUBNET = { subnetId: PRIMARY_NETWORK, status: 'up', connectedWeight: WEIGHT, totalWeight: WEIGHT } as const;
const NODE = 'NodeID-A4cvWK5MQV1j4M9oSjFzC3NeopECH3FmU';

/** The C-Chain's `hello from C 0`, signed by four of five nodes of a network of their own. */
const UNSIGNED =
  '000000003039ee488204088eaba3d3c0c5e26d7a2892677f8d6181ef31848708b4e55ead7667000000300000000000010000' +
  '00148db97c7cece249c2b98bdc0226cc4c2a57bf52fc0000000e68656c6c6f2066726f6d20432030';
const SIGNATURE =
  'b344d1157c9962b31ad2daca0f79f5dd0274f35497b0384c1aad03856b14aeb11decd1a4df419bb0ca9b405fe23581cc13aa5f' +
  '772bf6d65d12e9acd7fa2239ff64fdef6dd4eb9c87ed26bd508fdca1867a90df2dc922f724458bc3e37e39319c';
export const SIGNED_EXAMPLE = `${UNSIGNED}00000000000000011d${SIGNATURE}`;

const network: ReadinessBody['networks'][number] = {
  ...{ name: 'local', status: 'up', nodeId: 'NodeID-HWeVfkeu8dazTeo88pArv1UPqRjPuUErZ' },
  subnets: [SUBNET],
};
const subnets: SubnetListBody = { subnets: [{ ...SUBNET, isTracked: true }] };
const subnet: SubnetViewBody = {
  ...{ subnetId: PRIMARY_NETWORK, pChainHeight: 199, totalWeight: WEIGHT, connectedWeight: WEIGHT },
  ...{ reachableWeight: WEIGHT, signableWeight: WEIGHT, highestQuorum: 100, withoutKey: { weight: '0', count: 0 } },
  validators: [
    {
      ...{ status: 'signable', index: 4, weight: '2750000065356825' },
      publicKey: 'b94dfbdae29f69c0fbd0bef63e645ca3ae6a6813feb581141fce700d54eda350be76375cecd78bfb08a64c32a1af4dd2',
      nodes: [
        {
          ...{ nodeId: NODE, isConnected: true, address: '127.0.0.1:42543', version: 'avalanchego/1.14.2' },
          lastAnswer: { outcome: 'signed', ageMs: 240 },
          latency: { answers: 1, medianMs: 31.2, p99Ms: 31.2 },
        },
      ],
    },
  ],
  nextPageToken: 'WyIxMTExMTExMTExMTExMTExMTExMTExMTExMTExMTExMUxwb1lZQDE5OSIsMV0',
};
const verified: VerificationResult = {
  ...{ isValid: true, messageId: 'YGd2w5h5f68AtM91126N6qRcNYUWr3HwBkoh77d3h8UrgfYZL', networkId: 1337 },
  sourceBlockchainId: '2HXTi8zYAENTDyDZtMiK91cYAApsNt6RzuzEJRX7AR9JRjVuSq',
  payload: {
    ...{ kind: 'AddressedCall', sourceAddress: '8c5541597ff7ecce66f60eb806725357cccd2de2' },
    payload: '6d6573736167652031',
  },
  ...{ signingSubnetId: PRIMARY_NETWORK, pChainHeight: 199, quorumPercentage: 67 },
  ...{ signedWeight: '6750001209098875', neededWeight: '5862501565560811', totalWeight: WEIGHT },
  signers: [
    { index: 0, weight: '2250000221458647', nodeIds: ['NodeID-pSjUEdk6pJPQwVBToxPx5Ky3DuEDsEmU'] },
    { index: 3, weight: '1750000922283403', nodeIds: ['NodeID-933VnSxYWsuzk4mqJP7iAHt8EtGsnLijg'] },
    { index: 4, weight: '2750000065356825', nodeIds: [NODE] },
  ],
};
const decoded: DecodeResult = {
  readings: [
    {
      ...{ as: 'signedMessage', messageId: '4oKrFeAsPACRypUNvDu7JHRGdxLmkpQGpqKdcSaUVD2R2TUFp', networkId: 12345 },
      sourceBlockchainId: '2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC',
      payload: {
        ...{ kind: 'AddressedCall', sourceAddress: '8db97c7cece249c2b98bdc0226cc4c2a57bf52fc' },
        payload: '68656c6c6f2066726f6d20432030',
      },
      unsignedMessage: UNSIGNED,
      signature: { signers: [0, 2, 3, 4], signature: SIGNATURE },
    },
  ],
};

/** By the operation. Routes that are not here have theirs in the schema of their answer. */
export const ANSWER_EXAMPLES: Readonly<Record<string, object>> = {
  goAggregateSignatures: { 'signed-message': SIGNED_EXAMPLE },
  goAggregateSignaturesOfNetwork: { 'signed-message': SIGNED_EXAMPLE },
  listSubnets: subnets,
  getSubnet: subnet,
  verifySignedMessage: verified,
  decodeMessage: decoded,
  proveUptime: {
    signedMessage:
      '0000000005391c854482feb5d1cb37a0fa239fde8575a177f22b761d819a4e6429aac8b7a9b20000003c0000000000010000000000' +
      '00002e00000000000079439d275eac3ddadef7247b2a1bf98c10c485f0279313d0a4dcea52aeb18fe0000000000001516600000000' +
      '000000010e8cde9d028ddebb41a81fd04eda6bbbe2f6696c76b15fc600764aec9820382ef2f1c75a0967eab8e9e45aab751beb9dd5' +
      '033530ae571d43727ce433ea2b7eebcd7e79469d0d17c453a142bda7088f5fe935e47b289e24586ef8a7c99f9ac513f5',
    ...{ pChainHeight: 199, signingSubnetId: 't11ae61JBSuRBJQuavdz5aVhTFYxD7Scdmw5P32eX2tGzXNVB' },
    ...{ signedWeight: '750', totalWeight: '910' },
    signers: [
      'NodeID-8CxmRayLhf54SjaNjt2cXmTu8u3psAT9o',
      'NodeID-CHs9pWu4mrvSVWC6JL3bVxMY7YPySgBTG',
      'NodeID-NC8YxMhjbfg38eenj5Rp52f1C4eqqN9N',
    ],
    validationId: 'vQXgvLvsCf5pM1pxCtbJJCuceS9tZde1KYhySx33cQRRV8JEf',
    ...{ blockchainId: 'DZX9nN8C1qabAXiPWWLVx8WRR4eaCYdbbmF91FE7btyPnrgui', uptimeSeconds: 86_374 },
  },
  live: { status: 'up' },
  ready: { status: 'up', networks: [network] } satisfies ReadinessBody,
  readyNetwork: network,
  callNode: { jsonrpc: '2.0', id: 1, result: { height: '199' } },
};

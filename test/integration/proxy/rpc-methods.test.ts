import type { TSchema } from 'typebox';
import Schema from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { RPC_METHODS } from '../../../src/proxy/catalogue/rpc-methods.ts';
import { readRpcExchanges } from '../../vectors/vectors.ts';
import { type Described, readDocument } from './document-reader.ts';
import { shareUpstreamService } from './shared-service.ts';
import { startUpstreamService } from './upstream-service.ts';

/** The specification's two tables: the fields of params, those that may be left out with a question mark, and those of the result. */
const SPECIFIED: Readonly<Record<string, readonly [params: string, result: string]>> = {
  'avm.getAllBalances': ['address', 'balances'],
  'avm.getAssetDescription': ['assetID', 'assetID name symbol denomination'],
  'avm.getBalance': ['address assetID', 'balance utxoIDs'],
  'avm.getBlock': ['blockID encoding?', 'block encoding'],
  'avm.getBlockByHeight': ['height encoding?', 'block encoding'],
  'avm.getHeight': ['', 'height'],
  'avm.getTx': ['txID encoding?', 'tx encoding'],
  'avm.getTxFee': ['', 'txFee createAssetTxFee'],
  'avm.getTxStatus': ['txID', 'status'],
  'avm.getUTXOs': [
    'addresses limit? startIndex? sourceChain? encoding?',
    'numFetched utxos endIndex sourceChain? encoding',
  ],
  'platform.getBalance': [
    'addresses',
    'balances unlockeds lockedStakeables lockedNotStakeables utxoIDs balance? unlocked? lockedStakeable? lockedNotStakeable?',
  ],
  'platform.getBlock': ['blockID encoding?', 'block encoding'],
  'platform.getBlockByHeight': ['height encoding?', 'block encoding'],
  'platform.getBlockchains': ['', 'blockchains'],
  'platform.getBlockchainStatus': ['blockchainID', 'status'],
  'platform.getCurrentSupply': ['subnetID?', 'supply'],
  'platform.getCurrentValidators': ['subnetID? nodeIDs?', 'validators'],
};
/** What avalanchego v1.14.2 answers beyond the specification. */
const UNSPECIFIED = new Set([
  'platform.getCurrentSupply height?',
  'platform.getCurrentValidators accruedDelegateeReward',
]);
const VALIDATOR_FIELDS =
  'txID startTime endTime nodeID weight validationID publicKey minNonce balance potentialReward delegationFee uptime ' +
  'delegatorCount delegatorWeight connected signer remainingBalanceOwner deactivationOwner validationRewardOwner ' +
  'delegationRewardOwner delegators';

const { methods, describedMethods } = await readDocument(await shareUpstreamService());

const paramsOf = (method: string): Described => describedMethods()[method]?.params ?? {};
const resultOf = (method: string): Described => describedMethods()[method]?.result ?? {};

function fieldsOf({ properties = {}, required = [] }: Described): string[] {
  return Object.keys(properties)
    .map((name) => (required.includes(name) ? name : `${name}?`))
    .toSorted();
}

const words = (text: string): string[] =>
  text
    .split(' ')
    .filter((word) => word !== '')
    .toSorted();

describe('the document', () => {
  test('has each method that is let through, with its params and its result', () => {
    expect(methods()).toEqual(expect.arrayContaining(Object.keys(SPECIFIED)));
    expect(methods().filter((method) => RPC_METHODS[method] === undefined)).toEqual([]);
    expect(Object.keys(describedMethods())).toEqual(methods());
  });

  test('has the fields of the specification', () => {
    for (const [method, [params, result]] of Object.entries(SPECIFIED)) {
      const found = fieldsOf(resultOf(method)).filter((field) => !UNSPECIFIED.has(`${method} ${field}`));
      expect([method, fieldsOf(paramsOf(method)), found]).toEqual([method, words(params), words(result)]);
    }
    const ofRecord = (method: string, field: string) =>
      Object.keys(resultOf(method).properties?.[field]?.items?.properties ?? {}).toSorted();
    const ofValidator = ofRecord('platform.getCurrentValidators', 'validators');
    expect(ofValidator.filter((field) => !UNSPECIFIED.has(`platform.getCurrentValidators ${field}`))).toEqual(
      words(VALIDATOR_FIELDS),
    );
    expect(ofRecord('platform.getBlockchains', 'blockchains')).toEqual(words('id name subnetID vmID'));
    expect(ofRecord('avm.getBalance', 'utxoIDs')).toEqual(words('txID outputIndex'));
    expect(ofRecord('avm.getAllBalances', 'balances')).toEqual(words('asset balance'));
  });
});

test("an operator's own method has any params and any result, whatever its name is", async () => {
  await using added = await startUpstreamService({ settings: { rpcMethods: ['my/~method', 'platform.getHeight'] } });
  const own = await readDocument(added);
  expect(own.methods()).toEqual(['my/~method', 'platform.getHeight']);
  expect(Object.keys(own.schemas).filter((name) => !/^[A-Z]\w*$/.test(name))).toEqual([]);
});

/** Also that each field which an answer has is described, where the schema is of an object with fields. */
function expectDescribed(method: string, kind: 'params' | 'result', value: unknown): void {
  const schema = kind === 'params' ? paramsOf(method) : resultOf(method);
  const [isValid, errors] = Schema.Compile(schema as TSchema).Errors(value);
  expect([method, kind, isValid, errors]).toEqual([method, kind, true, []]);
  expectFields(`${method} ${kind}`, schema, value);
}

function expectFields(where: string, schema: Described, value: unknown): void {
  if (Array.isArray(value)) {
    for (const item of value) expectFields(where, schema.items ?? {}, item);
  } else if (typeof value === 'object' && value !== null && schema.properties !== undefined) {
    for (const [name, field] of Object.entries(value)) {
      expect(Object.keys(schema.properties), where).toContain(name);
      expectFields(`${where}.${name}`, schema.properties[name] ?? {}, field);
    }
  }
}

test('calls and answers of a real node fit', () => {
  const exchanges = readRpcExchanges('pchain').filter(({ request }) => request.method in RPC_METHODS);
  expect(exchanges.length).toBeGreaterThan(10);
  for (const { request, response } of exchanges) {
    expectDescribed(request.method, 'params', request.params);
    if (response.result !== undefined) expectDescribed(request.method, 'result', response.result);
  }
});

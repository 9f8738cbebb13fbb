import { METHODS } from 'node:http';
import type { Devnet } from '../../src/devnet/devnet.ts';
import { bytesToHex } from '../../src/lib/encoding/bytes.ts';
import { idBytes } from '../../src/warp/ids.ts';
import type { GoDifference } from './differences.ts';
import type { GoRequest } from './send.ts';

/** A request that both services are sent. */
export interface CorpusEntry extends GoRequest {
  readonly name: string;
  /** The answers differ, and this is why. */
  readonly differs: GoDifference | undefined;
  /** Asked when all others are answered, as the reference's answer depends on them. */
  readonly isLast: boolean;
}

const GO_PATH = '/aggregate-signatures';
const MAX_UINT64 = '18446744073709551615';

type More = Partial<Pick<GoRequest, 'method' | 'path' | 'headers'>> & {
  readonly differs?: GoDifference;
  readonly isLast?: boolean;
};
/** JSON as it is written: numbers that JavaScript has not, equal names, mistakes. */
type Body = string | Uint8Array | Readonly<Record<string, unknown>> | undefined;

/** All requests on which the Go aggregator and this service are compared. The devnet has emitted the messages, and does not change. */
export function goCorpus(devnet: Devnet): readonly CorpusEntry[] {
  const entries: CorpusEntry[] = [];
  function add(
    name: string,
    body: Body,
    { method = 'POST', path = GO_PATH, headers = {}, differs, isLast = false }: More = {},
  ): void {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array || body === undefined;
    entries.push({ name, method, path, headers, body: isRaw ? body : JSON.stringify(body), differs, isLast });
  }

  const examples = devnet.examples('fuji').flatMap(({ name, body }) => (body === undefined ? [] : [{ name, body }]));
  const exampleNamed = (wanted: string) => examples.find(({ name }) => name === wanted)?.body ?? {};
  const { primary, l1 } = devnet.subnets;
  const prefixed = exampleNamed('C-Chain message').message as string;
  const message = prefixed.slice(2);
  const ofL1 = exampleNamed('L1 message').message as string;
  const conversion = exampleNamed('P-Chain: conversion of the L1');
  const unknown = (text: string) => bytesToHex(devnet.chains.C.prepare(new TextEncoder().encode(text)).bytes);
  const l1Hex = bytesToHex(idBytes(l1.subnetID));

  // Methods. Without a body is how tools look whether the service is there.
  for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
    // An answer to a HEAD has no body, so that there is nothing more to compare.
    add(`${method} without a body`, undefined, { method });
  }
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'PURGE']) {
    add(`${method} with a body`, { message }, { method });
  }

  // Headers.
  const types =
    'json / ; ;; application/ application/json; text/plain application/x-www-form-urlencoded multipart/form-data application/grpc */* " a/b/c';
  for (const type of ['', ' ', 'application/json; charset=utf-16', ...types.split(' ')])
    add(`content type ${JSON.stringify(type)}`, { message }, { headers: { 'content-type': type } });
  add('no content type', { message });
  add('two content types', { message }, { headers: { 'content-type': ['text/plain', 'application/json'] } });
  add('malformed content type without a body', undefined, { headers: { 'content-type': 'json' } });
  add('a body in chunks', { message }, { headers: { 'transfer-encoding': 'chunked' } });
  const chunksAndLength = { 'transfer-encoding': 'chunked', 'content-length': '5' };
  add('a body in chunks, and a length', { message }, { headers: chunksAndLength, differs: 'a length beside chunks' });
  add('no bytes in chunks', '', { headers: { 'transfer-encoding': 'chunked' } });
  add('accept text', { message }, { headers: { accept: 'text/html' } });
  add('accept events', { message }, { headers: { accept: 'text/event-stream' } });
  add('content encoding identity', { message }, { headers: { 'content-encoding': 'identity' } });
  const gzip = { 'content-encoding': 'gzip' };
  add('content encoding gzip', { message }, { headers: gzip, differs: 'a body that is encoded' });
  add('expect 100-continue', { message }, { headers: { expect: '100-continue' } });
  add('an origin', { message }, { headers: { origin: 'https://bridge.example' } });

  // Paths.
  add('path with a query', { message }, { path: `${GO_PATH}?x=1` });
  add('path with an empty query', { message }, { path: `${GO_PATH}?` });
  add('path with an escape', { message }, { path: '/aggregate%2Dsignatures' });
  for (const [name, path, differs] of [
    ['path with a slash at its end', `${GO_PATH}/`, 'another path'],
    ['path in upper case', '/Aggregate-Signatures', 'another path'],
    ['path with one more part', `${GO_PATH}/x`, 'another path'],
    ['path with two slashes', `/${GO_PATH}`, 'a path with // or ..'],
    ['path with dots', `/x/..${GO_PATH}`, 'a path with // or ..'],
  ] as const) {
    add(name, { message }, { path, differs });
  }
  add('another path', undefined, { method: 'GET', path: '/', differs: 'another path' });

  // JSON.
  const good = `{"message":"${message}"}`;
  const texts: readonly (readonly [name: string, body: string | Uint8Array])[] = [
    ['empty', ''],
    ['spaces', ' \r\n\t'],
    ['null', 'null'],
    ['null and more', 'nullx'],
    ['true', 'true'],
    ['a number', '5'],
    ['a text', `"${message}"`],
    ['a list', `[${good}]`],
    ['no member', '{}'],
    ['spaces in it', ` \n{ "message"\t: "${message}" \r\n}\n`],
    ['a form', `message=${message}`],
    ['cut off in a text', good.slice(0, 40)],
    ['cut off before the end', good.slice(0, -1)],
    ['cut off after a name', '{"message"'],
    ['cut off after a comma', `${good.slice(0, -1)},`],
    ['a second object', `${good}{"quorum-percentage":101}`],
    ['a second line', `${good}\n${good}`],
    ['letters behind it', `${good}xyz`],
    ['brackets behind it', `${good}]}`],
    ['a byte order mark', `\uFEFF${good}`],
    ['a comma at the end', `{"message":"${message}",}`],
    ['two commas', `{"message":"${message}",,"quorum-percentage":67}`],
    ['no quotes around the name', `{message:"${message}"}`],
    ['single quotes', `{'message':'${message}'}`],
    ['a comment', `{/* */"message":"${message}"}`],
    ['an equals sign', `{"message"="${message}"}`],
    ['NaN', `{"message":"${message}","quorum-percentage":NaN}`],
    ['a form feed as space', `{\f"message":"${message}"}`],
    ['a no-break space', `{\u00a0"message":"${message}"}`],
    ['a name with an escape', `{"\\u006dessage":"${message}"}`],
    ['a value with an escape', `{"message":"\\u0030x${message}"}`],
    ['a wrong escape', `{"message":"\\x30${message}"}`],
    ['a raw line feed in a text', `{"message":"${message}","x":"a\nb"}`],
    ['half a surrogate pair elsewhere', `{"message":"${message}","x":"\\ud800"}`],
    [
      'bytes that are no UTF-8 elsewhere',
      Buffer.concat([Buffer.from(`{"message":"${message}","x":"`), Buffer.from([0xff, 0xc0]), Buffer.from('"}')]),
    ],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x7b])],
    ['a null byte', '\0'],
    ['equal names, last good', `{"message":"xyz","message":"${message}"}`],
    ['equal names, last bad', `{"message":"${message}","message":"xyz"}`],
    ['equal names, last null', `{"message":"${message}","message":null}`],
    ['equal names, last empty', `{"message":"${message}","message":""}`],
    ['equal names, first of a wrong type', `{"message":5,"message":"${message}"}`],
    ['names in two cases, last good', `{"message":"xyz","MESSAGE":"${message}"}`],
    ['names in two cases, last bad', `{"MESSAGE":"${message}","message":"xyz"}`],
    ['three of a name, in two cases', `{"message":"xyz","Message":"xyz","message":"${message}"}`],
    ['unknown members', `{"a":[{"b":"}]"},[1e9,null]],"message":"${message}","c":-1.5E+3,"d":{}}`],
    ['a mistake in an unknown member', `{"a":[1,],"message":"${message}"}`],
    ['an unknown member that is not closed', `{"message":"${message}","a":[{]}}`],
    ['a number with a zero before it elsewhere', `{"message":"${message}","a":01}`],
    ['a member named __proto__', `{"message":"${message}","__proto__":{"quorum-percentage":"x"}}`],
    ['deep', `{"message":"${message}","a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`],
    ['an object of lists', '{"message":[]}'],
  ];
  for (const [name, body] of texts) add(`JSON: ${name}`, body);

  // Names.
  add('names in title case', { Message: message, 'Quorum-Percentage': 67 });
  add('names in upper case', { MESSAGE: message, 'SIGNING-SUBNET-ID': primary.subnetID });
  add('a name with a long s', { 'me\u017f\u017fage': message });
  add('a subnet in title case', { message, 'Signing-Subnet-Id': 'x' });
  add('a quorum in upper case', { message, 'QUORUM-PERCENTAGE': 101 });
  add('a name with a space', { 'message ': message });
  add('names with underscores', { message, quorum_percentage: 101 });
  const everything = { signingSubnetId: '', quorumPercentage: 67, quorumPercentageBuffer: 0, pchainHeight: 0 };
  add('camelCase: everything', { message, justification: '', ...everything });
  add('camelCase and its own name, equal', { message, 'quorum-percentage': 67, quorumPercentage: 67 });
  add('p-chain-height', { message, 'p-chain-height': 0 });
  for (const [name, fields] of [
    ['camelCase: a wrong subnet', { signingSubnetId: 'x' }],
    ['camelCase: a quorum above 100', { quorumPercentage: 101 }],
    ['camelCase: quorum and buffer above 100', { quorumPercentage: 90, quorumPercentageBuffer: 20 }],
    ['camelCase: a height of a wrong type', { pChainHeight: '5' }],
    ['camelCase and its own name, different', { 'quorum-percentage': 67, quorumPercentage: 80 }],
    ['p-chain-height of a wrong type', { 'p-chain-height': '5' }],
  ] as const) {
    add(name, { message, ...fields }, { differs: 'camelCase fields' });
  }

  // Ranges.
  const integers = `1 67 100 101 255 256 ${MAX_UINT64} 18446744073709551616 ${'1'.repeat(30)} -1 -0`;
  const noIntegers = '67.0 67.5 6.7e1 1e2 1E2 "67" "" null true [] {} 0 00 +1 0x43';
  for (const value of `${integers} ${noIntegers}`.split(' '))
    add(`quorum ${value}`, `{"message":"${message}","quorum-percentage":${value}}`);
  for (const value of ['0', '1', '33', '34', '100', '101', '-1', '1.0', '"1"', 'null', '18446744073709551616']) {
    add(`buffer ${value}`, `{"message":"${message}","quorum-percentage-buffer":${value}}`);
  }
  add('buffer 2^64 - 1', `{"message":"${message}","quorum-percentage-buffer":${MAX_UINT64}}`, {
    differs: 'a buffer of 2^64 - 1',
  });
  for (const pair of '90 20, 90 10, 100 0, 100 1, 1 99, 1 100, 0 33, 0 34, 101 101'.split(', ')) {
    const [quorum, buffer] = pair.split(' ').map(Number);
    const percentages = { 'quorum-percentage': quorum, 'quorum-percentage-buffer': buffer };
    add(`quorum ${quorum} with buffer ${buffer}`, { message, ...percentages });
  }
  for (const value of ['0', 'null', MAX_UINT64, '18446744073709551616', '-1', '1.0', '1e0', '"1"', '""', 'false']) {
    add(`height ${value}`, `{"message":"${message}","pchain-height":${value}}`);
  }
  for (const value of ['18446744073709551614', '9223372036854775808', '9007199254740993', '1000000']) {
    add(`height ${value}, too high`, `{"message":"${message}","pchain-height":${value}}`, {
      differs: "the caller's mistakes",
    });
  }
  add('an older height', { message: ofL1, 'pchain-height': Number(l1.olderHeight) });

  // Messages.
  add('message with 0x', { message: prefixed });
  add('message in upper case', { message: message.toUpperCase() });
  add('message with 0X', { message: `0X${message}` });
  add('message with 0x twice', { message: `0x0x${message}` });
  add('message with half a byte', { message: `${message}0` });
  add('message with a space', { message: ` ${message}` });
  add('message in base64', { message: Buffer.from(message, 'hex').toString('base64') });
  add('message with one more byte', { message: `${message}00` });
  add('message without its last byte', { message: message.slice(0, -2) });
  add('message of another codec version', { message: `0001${message.slice(4)}` });
  add('message without anything', { message: '0x' });
  add('message of four bytes', { message: '0xabcd1234' });
  add('message of zeros', { message: '00000000' });
  add('message of 42 zeros', { message: '00'.repeat(42) });
  for (const [name, fields] of [
    ['message of 42 zeros, with a justification', { message: '00'.repeat(42), justification: l1Hex }],
    ['message empty, justification not', { message: '', justification: l1Hex }],
    ['justification alone', { justification: l1Hex }],
    ['justification alone, of no use', { justification: 'abcd' }],
  ] as const) {
    add(name, fields, { differs: 'a justification without a message' });
  }
  const logData = (text: string) =>
    `${'20'.padStart(64, '0')}${(text.length / 2).toString(16).padStart(64, '0')}${text}`;
  add('message as log data', { message: logData(message.padEnd(Math.ceil(message.length / 64) * 64, '0')) });
  add('message as log data, its length true', {
    message: `0x${logData(message)}${'0'.repeat((64 - (message.length % 64)) % 64)}`,
  });
  add('message as log data, cut off', { message: logData(message).slice(0, 200) });
  add('message as log data, of no message', { message: logData('ab'.repeat(32)) });
  for (const [name, fields] of [
    ['message of another network', { message: `${message.slice(0, 4)}00000001${message.slice(12)}` }],
    [
      'message of a chain that is not known',
      { message: `${message.slice(0, 12)}${'ee'.repeat(32)}${message.slice(76)}` },
    ],
    ['subnet: not known', { message, 'signing-subnet-id': `0x${'ee'.repeat(32)}` }],
  ] as const) {
    add(name, fields, { differs: "the caller's mistakes" });
  }
  add('message of another type', { message: 5 });
  add('message that is not known', { message: unknown('never emitted, and so not known') });
  add('message that is not known, quorum 1', { message: unknown('never emitted either'), 'quorum-percentage': 1 });
  add('message that is not known, from the L1', {
    message: unknown('not even there'),
    'signing-subnet-id': l1.subnetID,
  });

  // Justifications.
  const { justification = '' } = conversion;
  const ofConversion = { message: conversion.message, 'signing-subnet-id': l1.subnetID };
  for (const [name, value] of [
    ['empty', ''],
    ['zeros', '0000'],
    ['beside a message that needs none', 'abcd'],
    ['null', null],
    ['with 0x only', '0x'],
    ['no hex', 'xyz'],
    ['with 0X', '0XAB'],
    ['half a byte', 'abc'],
    ['a number', 5],
  ] as const) {
    add(`justification: ${name}`, { message, justification: value });
  }
  add('justification with 0x', { ...ofConversion, justification });
  add('justification without 0x', { ...ofConversion, justification: justification.slice(2) });
  add('justification in upper case', { ...ofConversion, justification: justification.slice(2).toUpperCase() });
  add('justification missing', ofConversion, { differs: 'a justification that is missing', isLast: true });

  // Signing subnets.
  for (const [name, value] of [
    ['the primary network', primary.subnetID],
    ['the primary network in hex', `0x${'00'.repeat(32)}`],
    ['the L1', l1.subnetID],
    ['the L1 in hex', `0x${l1Hex}`],
    ['the L1 in upper case', `0x${l1Hex.toUpperCase()}`],
    ['hex without 0x', l1Hex],
    ['hex with 0X', `0X${l1Hex}`],
    ['hex that is short', '0xab'],
    ['hex that is long', `0x${l1Hex}00`],
    ['0x alone', '0x'],
    ['a wrong checksum', `${l1.subnetID.slice(0, -1)}1`],
    ['a space before it', ` ${l1.subnetID}`],
    ['no ID', 'primary'],
    ['a number', 5],
    ['null', null],
    ['empty', ''],
  ] as const) {
    add(`subnet: ${name}`, { message, 'signing-subnet-id': value });
  }
  add('subnet: wrong, and so is the quorum', { message, 'signing-subnet-id': 'x', 'quorum-percentage': 101 });
  add('quorum and message wrong', { message: 'xyz', 'quorum-percentage': 101 });
  add('justification and quorum wrong', { message, justification: 'xyz', 'quorum-percentage': 101 });
  add('message and justification wrong', { message: 'abcd', justification: 'xyz' });

  // What the devnet's examples ask for, as the clients of either API spell it.
  for (const { name, body } of examples) {
    if (body.destinationBlockchainId !== undefined) continue;
    const differs = body.message === undefined ? { differs: 'a justification without a message' as const } : {};
    add(
      `example: ${name}`,
      {
        message: body.message,
        justification: body.justification,
        'signing-subnet-id': body.signingSubnetId,
        'quorum-percentage': body.quorumPercentage,
        'quorum-percentage-buffer': body.quorumPercentageBuffer,
        'pchain-height': body.pChainHeight,
      },
      differs,
    );
  }
  return entries;
}

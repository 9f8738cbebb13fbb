import fs from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SignedMessageBody } from '../../../../src/api/aggregation/signed-message-record.ts';
import { bytesToHex } from '../../../../src/lib/encoding/bytes.ts';
import { readCase } from '../../../vectors/vectors.ts';
import { createTestServer } from '../api-fixture.ts';

const POST_PATH = '/v1/signatureAggregator/{network}/aggregateSignatures';

describe('the page of the API', async () => {
  const server = await createTestServer();

  test('has the result as the one success, and describes the event stream in words', async () => {
    const { responses, description } = (await server.inject('/docs/json')).json().paths[POST_PATH].post;
    expect(Object.keys(responses).filter((status) => status < '400')).toEqual(['201']);
    expect(description).toContain('The schema of an event is AggregationEvent.');
  });

  test('reads each file once, and serves it under one name', async () => {
    const read = vi.spyOn(fs, 'createReadStream');
    onTestFinished(() => read.mockRestore());
    const file = '/docs/static/swagger-ui-bundle.js';
    const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => server.inject(file)));
    for (const other of others) expect(other.rawPayload.equals(first!.rawPayload)).toBe(true);
    expect(read.mock.calls.map(([path]) => basename(String(path)))).toEqual(['swagger-ui-bundle.js']);
    const { etag, 'content-security-policy': policy } = first!.headers;
    expect(policy).toContain("default-src 'none'");
    expect(await server.inject({ url: file, headers: { 'if-none-match': etag } })).toMatchObject({
      statusCode: 304,
      body: '',
    });
    for (const name of ['%73wagger-ui.css', '/swagger-ui.css', 'nothing.js']) {
      expect((await server.inject(`/docs/static/${name}`)).statusCode, name).toBe(404);
    }
  });

  test('has no absolute path, so that a proxy may serve it below a path of its own', async () => {
    const at = (url: string, path: string) => new URL(path, new URL(url, 'http://proxy/below/')).pathname;
    const locationOf = async (url: string) => at(`.${url}`, (await server.inject(url)).headers.location ?? '');
    expect([await locationOf('/docs'), await locationOf('/docs/static/index.html')]).toEqual(
      Array(2).fill('/below/docs/'),
    );
    const { body } = await server.inject('/docs/');
    const links = [...body.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, link = '']) => link);
    expect(links.length).toBeGreaterThan(4);
    for (const link of links) expect(at('./docs/', link)).toMatch(/^\/below\/docs\/static\//);
    for (const format of ['json', 'yaml']) {
      const [, url = ''] =
        /"?servers"?:[^]*?"?url"?: ?"?([^\s",]+)/.exec((await server.inject(`/docs/${format}`)).body) ?? [];
      expect(at(`./docs/${format}`, url)).toBe('/below/');
    }
  });
});

test('the example of a signed message is real', () => {
  const { signed, canonicalValidators, totalWeight } = readCase('c_warp_0');
  const [example] = (SignedMessageBody as unknown as { examples: SignedMessageBody[] }).examples;
  expect(example).toMatchObject({
    signedMessage: bytesToHex(signed!.signedMessage),
    signedWeight: String(signed?.signerWeight),
    totalWeight: String(totalWeight),
    signers: signed?.signerIndices.map((index) => canonicalValidators[index]?.nodeIDs[0]),
  });
});

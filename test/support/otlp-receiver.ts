import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { BinaryReader } from '@bufbuild/protobuf/wire';

export interface ReceivedSpan {
  readonly traceID: string;
  readonly spanID: string;
  /** Empty for a root. */
  readonly parentID: string;
  readonly name: string;
  /** 1 is internal, 2 is a server's, 3 is a client's. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceID: string; readonly spanID: string }[];
  /** 2 is an error. */
  readonly status: number;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** A collector that takes traces by OTLP over HTTP, as protobuf. */
export interface OtlpReceiver extends AsyncDisposable {
  /** Without the path. */
  readonly url: string;
  readonly spans: ReceivedSpan[];
  readonly requests: { readonly path: string; readonly headers: IncomingHttpHeaders }[];
  /** The status of its answers; undefined gives none. */
  status: number | undefined;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const server = createServer((request, response) => void receive(request, response));
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    // A client of a server that had this port before, in another test, may still call it.
    if (request.headers['content-type'] !== 'application/x-protobuf') return void response.writeHead(415).end();
    receiver.requests.push({ path: request.url ?? '', headers: request.headers });
    if (receiver.status === undefined) return;
    if (receiver.status === 200) {
      const isCompressed = request.headers['content-encoding'] === 'gzip';
      receiver.spans.push(...decodeExport(isCompressed ? gunzipSync(body) : body));
    }
    response.writeHead(receiver.status, { 'content-type': 'application/x-protobuf' }).end();
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${port}`,
    spans: [],
    requests: [],
    status: 200,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}

type Fields = ReadonlyMap<number, readonly (Uint8Array | number | bigint)[]>;

/** ExportTraceServiceRequest of opentelemetry-proto. */
function decodeExport(bytes: Uint8Array): ReceivedSpan[] {
  return messages(fieldsOf(bytes), 1).flatMap((ofResource) => {
    const resource = attributesOf(messages(ofResource, 1)[0] ?? new Map(), 1);
    return messages(ofResource, 2).flatMap((ofScope) =>
      messages(ofScope, 2).map((span) => ({
        traceID: hex(span, 1),
        spanID: hex(span, 2),
        parentID: hex(span, 4),
        name: text(span, 5),
        kind: Number(span.get(6)?.[0] ?? 0),
        attributes: attributesOf(span, 9),
        links: messages(span, 13).map((link) => ({ traceID: hex(link, 1), spanID: hex(link, 2) })),
        status: Number(messages(span, 15)[0]?.get(3)?.[0] ?? 0),
        resource,
      })),
    );
  });
}

function fieldsOf(bytes: Uint8Array): Fields {
  const reader = new BinaryReader(bytes);
  const fields = new Map<number, (Uint8Array | number | bigint)[]>();
  while (reader.pos < reader.len) {
    const [number, type] = reader.tag();
    const values = fields.get(number) ?? [];
    fields.set(number, values);
    switch (Number(type)) {
      case 0:
        values.push(BigInt(reader.int64()));
        break;
      case 1:
        values.push(BigInt(reader.fixed64()));
        break;
      case 2:
        values.push(reader.bytes());
        break;
      default:
        values.push(reader.fixed32());
    }
  }
  return fields;
}

function messages(fields: Fields, number: number): Fields[] {
  return (fields.get(number) ?? []).map((bytes) => fieldsOf(bytes as Uint8Array));
}

function hex(fields: Fields, number: number): string {
  return Buffer.from((fields.get(number)?.[0] as Uint8Array | undefined) ?? []).toString('hex');
}

function text(fields: Fields, number: number): string {
  return Buffer.from((fields.get(number)?.[0] as Uint8Array | undefined) ?? []).toString();
}

function attributesOf(fields: Fields, number: number): Record<string, unknown> {
  return Object.fromEntries(
    messages(fields, number).map((pair) => {
      const value = messages(pair, 2)[0] ?? new Map();
      const [kind, values] = [...value][0] ?? [];
      if (kind === 1) return [text(pair, 1), text(value, 1)];
      if (kind === 2) return [text(pair, 1), values?.[0] === 1n];
      return [text(pair, 1), Number(values?.[0])];
    }),
  );
}

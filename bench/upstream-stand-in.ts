import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

// node bench/upstream-stand-in.ts BYTES: an upstream that answers every request with the same JSON of about this size. Prints its URL as a JSON
// line and ends with its parent.
const size = Number(process.argv[2]);
const body = Buffer.from(
  JSON.stringify({
    blockHash: '',
    transactions: Array.from({ length: Math.ceil(size / 50) }, (_, index) => ({ index, hash: 'x'.repeat(28) })),
  }),
);
const headers = { 'content-type': 'application/json', 'content-length': body.length };
const server = createServer((_request, response) => response.writeHead(200, headers).end(body));
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }));
});
process.stdin.on('end', () => process.exit(0)).resume();

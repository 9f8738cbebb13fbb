import type { NodeID } from '../primitives/ids.ts';
import type { Devnet } from './devnet.ts';

/** Says what is running, and what to paste. */
export function printBanner({ url, nodeID, devnet }: { url: string; nodeID: NodeID; devnet: Devnet }): void {
  const examples = devnet.examples('fuji');
  const byTransaction = examples.filter(({ method }) => method === 'GET').slice(0, 1);
  const curls = [...examples.slice(0, 3), ...byTransaction].map(({ name, path, body }) => {
    const options = body === undefined ? '' : ` -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
    return `  # ${name}\n  curl -s ${url}${path}${options}`;
  });
  console.log(`Warp signature aggregator on an embedded network: nothing here is real money, and nothing leaves this machine.

  service     ${url}
  node ID     ${nodeID}
  P-Chain API ${devnet.apiUrl} (network ID ${devnet.networkID}, ${devnet.nodeIDs.length} validators over TLS on loopback)

Try it:

${curls.join('\n\n')}

  # all examples, readiness, the API's description
  curl -s ${url}/devnet/examples
  curl -s ${url}/health/ready
  curl -s ${url}/openapi.json

For a real network: npm start -- --config config/fuji.json. Stop with Ctrl-C.
`);
}

import fastify from 'fastify';
import { Pool } from 'undici';

/** What the service's proxying is measured against: Fastify and undici and nothing else, before the upstream of its argument. */
const upstream = new Pool(String(process.argv[2]), { connections: 128, pipelining: 1 });
const server = fastify();
server.get('/*', async (request, reply) => {
  const { connection: _connection, host: _host, ...sent } = request.headers;
  const { statusCode, headers, body } = await upstream.request({
    method: 'GET',
    path: request.raw.url ?? '/',
    headers: sent,
  });
  const { connection: _, 'keep-alive': _keepAlive, 'transfer-encoding': _encoding, ...passed } = headers;
  return reply.status(statusCode).headers(passed).send(body);
});
console.log(JSON.stringify({ url: await server.listen({ host: '127.0.0.1', port: 0 }) }));
process.stdin.on('end', () => process.exit(0)).resume();

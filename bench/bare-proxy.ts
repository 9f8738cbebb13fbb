import replyFrom from '@fastify/reply-from';
import fastify from 'fastify';

/** The proxy that the service is compared with: only @fastify/reply-from, in front of the upstream of its argument. */
const server = fastify();
await server.register(replyFrom, { base: String(process.argv[2]) });
server.get('/*', (_request, reply) => reply.from());
console.log(JSON.stringify({ url: await server.listen({ host: '127.0.0.1', port: 0 }) }));
process.stdin.on('end', () => process.exit(0)).resume();

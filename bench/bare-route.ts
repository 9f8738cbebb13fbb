import fastify from 'fastify';

/** What a repeated request is measured against: a route of Fastify that reads the same body, and answers the JSON of its argument. */
const [, , path = '', answer = ''] = process.argv;
const server = fastify();
server.post(path, (_request, reply) => {
  reply.status(201).type('application/json').send(answer);
});
console.log(JSON.stringify({ url: await server.listen({ host: '127.0.0.1', port: 0 }) }));
process.stdin.on('end', () => process.exit(0)).resume();

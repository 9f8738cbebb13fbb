import { styleText } from 'node:util';
import { Command, Option } from 'commander';
import { nearestName } from '../lib/encoding/nearest-name.ts';
import type { ReadingForm } from '../warp/reading.ts';
import { addServiceOptions, timeBack, wholeNumber } from './io/service-options.ts';

/** The forms of warp/reading.ts, which is not loaded for help. */
const FORMS: readonly ReadingForm[] = ['signedMessage', 'unsignedMessage', 'payload', 'content', 'justification'];
const DEFAULT_URL = 'http://127.0.0.1:8080';
const DEFAULT_TIMEOUT_SECONDS = 60;

/** Makes an action of a function that is loaded when the command runs. */
type Run = <Args extends unknown[]>(
  load: () => Promise<(...args: Args) => Promise<number>>,
) => (...args: Args) => Promise<void>;

/**
 * Every command with its options and help: the list of commands. `commands/` has their code, which is loaded when they run, `io/` terminal,
 * files and HTTP. The behaviour of the service is in the other folders of `src`.
 */
export function createProgram(version: string, onExit: (code: number) => void): Command {
  const run: Run =
    (load) =>
    async (...args) =>
      onExit(await (await load())(...args));
  const program = new Command('warp-signature-aggregator')
    .description(
      'Collects and aggregates signatures of Avalanche Warp messages, verifies and decodes them. Without a command it runs the service.',
    )
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({ styleTitle: (text) => styleText('bold', text, { validateStream: false }) })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, '')) })
    .exitOverride()
    .enablePositionalOptions();
  addDecode(program, run);
  addVerify(program, run);
  addAggregate(program, run);
  addSubnet(program, run);
  addValidation(program, run);
  addMessages(program, run);
  addRecords(program, run);
  addServiceCommands(program, run);
  for (const command of program.commands) command.showHelpAfterError(`See ${program.name()} ${command.name()} --help`);
  return program.showHelpAfterError(`See ${program.name()} --help`).addHelpText(
    'after',
    `
Input is hex in an argument, a file (--file) or standard input. Results go to standard output, messages to standard error.
NO_COLOR disables colours; they are used on a terminal only.

Exit codes: 0 done, or valid; 1 not valid, or not signed; 2 wrong arguments, input or configuration; 3 a service or node
cannot be reached, or too little weight has signed, and the same call may succeed later; 70 a bug.
serve: 0 after SIGINT or SIGTERM, 1 on a failure, 2 on wrong arguments or configuration.`,
  );
}

function addDecode(program: Command, run: Run): void {
  const decode = program
    .command('decode')
    .description(
      'Decode a Warp message, signed or not, the data of its log, a payload, its content or a justification; works offline',
    )
    .argument('[data]', 'hex, with or without 0x');
  addInput(decode)
    .addOption(new Option('--as <form>', 'the form of the data; default: all possible forms').choices(FORMS))
    .option('--json', 'print the JSON of POST …/decode')
    .action(run(async () => (await import('./commands/decode.ts')).decode));
  addExamples(decode, [
    'warp-signature-aggregator decode 0x000000000001…',
    'warp-signature-aggregator decode --file message.hex --json',
    'pbpaste | warp-signature-aggregator decode --as justification',
  ]);
}

function addVerify(program: Command, run: Run): void {
  const verify = program
    .command('verify')
    .description('Verify a signed Warp message like a destination chain, and list the signers')
    .argument('[signedMessage]', 'hex, with or without 0x');
  addInput(verify)
    .option('--set <file>', 'the validator set: the output of subnet --json, or the result of platform.getValidatorsAt')
    .option(
      '--p-chain <url>',
      'read the validator set from the P-Chain API of a node, such as https://api.avax.network',
    )
    .addOption(quorumOption())
    .option('--subnet <id>', 'the signing subnet; default: that of the source chain (with --p-chain)');
  addHeightOptions(verify)
    .option('--network-id <n>', 'the required network ID of the message (with --set)', wholeNumber(0xffff_ffff))
    .addOption(timeoutOption())
    .option('--json', 'print the JSON of POST …/verify')
    .action(run(async () => (await import('./commands/verify.ts')).verify));
  addExamples(verify, [
    'warp-signature-aggregator verify --set validators.json --file signed.hex   # offline',
    'warp-signature-aggregator verify --p-chain https://api.avax-test.network 0x0000…',
  ]);
}

function addAggregate(program: Command, run: Run): void {
  const aggregate = program
    .command('aggregate')
    .description('Collect the signatures of a Warp message, show the signed weight, and print the signed message')
    .argument('[message]', 'the unsigned message, or the data of its SendWarpMessage log, in hex, with or without 0x');
  addInput(aggregate);
  addSource(aggregate)
    .option(
      '--tx, --transaction <id>',
      'sign the message of this P-Chain or EVM transaction, in place of a given message',
    )
    .option('--chain <id>', 'the chain of an EVM transaction: its ID, or C for the C-Chain; default: it is searched')
    .option('--log-index <n>', 'the log of the message, if an EVM transaction sent several')
    .option(
      '--justification <hex>',
      'required for some messages of the P-Chain; without a message, its message is found',
    )
    .addOption(quorumOption())
    .option('--buffer <percent>', 'percentage to collect beyond the quorum (default 0)', wholeNumber(100))
    .option('--subnet <id>', 'the signing subnet; default: that of the source chain');
  addHeightOptions(aggregate)
    .addOption(
      new Option(
        '--wait <seconds>',
        'time in which the transaction may still be accepted and executed (at most 30)',
      ).argParser(wholeNumber(MAX_WAIT_SECONDS)),
    )
    .addOption(timeoutOption())
    .addOption(
      new Option('--format <form>', 'what to print: the signed message, or the access list of its delivery as JSON')
        .choices(['message', 'access-list'])
        .default('message'),
    )
    .addOption(new Option('--json', 'print the JSON of the service').conflicts('format'))
    .action(run(async () => (await import('./commands/aggregate.ts')).aggregate));
  addExamples(aggregate, [
    'warp-signature-aggregator aggregate --url https://aggregator.example 0x0000…   # through a service',
    'warp-signature-aggregator aggregate --config fuji.json --file message.hex > signed.hex   # without a service',
    'warp-signature-aggregator aggregate --network fuji --transaction 2wzK…',
    'warp-signature-aggregator aggregate --tx 0x8bf5… --chain C --wait 10   # of an EVM transaction that was just sent',
    'warp-signature-aggregator aggregate --tx 0x8bf5… --format access-list   # for cast send --access-list',
  ]);
}

function addSubnet(program: Command, run: Run): void {
  const subnet = program
    .command('subnet')
    .description('List the validators of a subnet: which can sign, and why others cannot')
    .argument('[subnet]', 'its ID in cb58 or hex; default: the primary network');
  addSource(subnet);
  addHeightOptions(subnet)
    .addOption(timeoutOption())
    .option('--watch', 'ask the service again every 5 s, until Ctrl-C; with --json a line for each answer')
    .addOption(
      new Option('--history', 'show what validators did in past collections, the worst first').conflicts([
        'watch',
        'config',
        'height',
        'destination',
      ]),
    )
    .addOption(
      new Option('--since <time>', 'how far back --history goes, such as 36h or 7d; default: 24h')
        .argParser(timeBack)
        .implies({ history: true }),
    )
    .option('--json', 'print the JSON of GET …/subnets/{subnetId}, or of its history; verify --set reads the former')
    .action(run(async () => (await import('./commands/subnet.ts')).showSubnet));
  addExamples(subnet, [
    'warp-signature-aggregator subnet 2qT7…   # through the service on this machine',
    'warp-signature-aggregator subnet --watch 2qT7…   # while validators are upgraded',
    'warp-signature-aggregator subnet --history --since 7d 2qT7…   # who did not sign',
    'warp-signature-aggregator subnet --config fuji.json 2qT7… --json > validators.json',
  ]);
}

function addValidation(program: Command, run: Run): void {
  const validation = program
    .command('validation')
    .description('Show what is known of an L1 validation, which of its messages can be signed now, and what comes next')
    .argument('<validationID>', 'in cb58 or hex')
    .option('--tx, --transaction <hash>', 'the EVM transaction by which the validator manager initiated it')
    .option('--chain <id>', 'the chain of that transaction: its ID, or C for the C-Chain; default: it is searched')
    .option('--log-index <n>', 'the log of the message, if the transaction sent several')
    .option('--justification <hex>', 'the registration: its payload, or the message or justification around it');
  addService(validation)
    .addOption(timeoutOption())
    .option('--json', 'print the JSON of GET …/validations/{validationId}')
    .action(run(async () => (await import('./commands/record.ts')).showValidation));
  addExamples(validation, [
    'warp-signature-aggregator validation 9FAft…',
    'warp-signature-aggregator validation 9FAft… --tx 0x8bf5… --json | jq -r .signable[0].request.path',
  ]);
}

function addMessages(program: Command, run: Run): void {
  const messages = program
    .command('messages')
    .description('List the messages of the chains that a service watches, with their signatures')
    .option('--follow', 'wait for new messages; reconnects by itself')
    .option('--after <cursor>', 'begin after a cursor that this command has printed; default: the last messages')
    .option('--source <id>', 'only messages of this chain: its ID, or C for the C-Chain')
    .option('--tx, --transaction <hash>', 'only messages of this EVM transaction')
    .option('--sender <address>', 'only messages of this contract or account')
    .option('--destination <id>', 'only Teleporter messages for this blockchain')
    .addOption(
      new Option('--status <status>', 'only messages of this status').choices(['pending', 'signed', 'failed']),
    );
  addService(messages)
    .addOption(timeoutOption())
    .option('--json', 'print a line of JSON for each message, as GET …/messages has it')
    .action(run(async () => (await import('./commands/messages.ts')).showMessages));
  messages.addHelpText(
    'after',
    `
A message is printed again when its status changes. The cursor to go on is printed to standard error at the end; it belongs to the
filters.
${examples([
  'warp-signature-aggregator messages --follow',
  'warp-signature-aggregator messages --follow --json | jq -r "select(.status == \\"signed\\").signedMessage"',
])}`,
  );
}

function addRecords(program: Command, run: Run): void {
  const message = program
    .command('message')
    .description('Show a message of a chain that a service watches, with its signatures')
    .argument('<messageID>', 'in hex or cb58')
    .option('--destination <id>', 'the blockchain that will verify it: it is signed again if that would refuse it now');
  addService(message)
    .addOption(timeoutOption())
    .option('--json', 'print the JSON of GET …/messages/{messageId}')
    .action(run(async () => (await import('./commands/record.ts')).showMessage));
  addExamples(message, ['warp-signature-aggregator message 0x4f1d… --json | jq -r .signedMessage']);
  const forget = program
    .command('forget')
    .description(
      'Let the feed of a service forget a chain that was begun anew: its position and all of its messages. For operators',
    )
    .argument('<blockchainID>', 'in hex or cb58');
  addService(forget)
    .addOption(timeoutOption())
    .option('--json', 'print the JSON of POST …/messages/{blockchainId}/forget')
    .action(run(async () => (await import('./commands/messages.ts')).forgetChain));
  addExamples(forget, ['warp-signature-aggregator forget 2q9e… --api-key "$OPERATOR_KEY"']);
  const request = program
    .command('request')
    .description(
      'Show what happened to a recent request for a signature: outcome, stages, and which validators did not sign',
    )
    .argument('<requestID>', 'the x-request-id of its answer')
    .addOption(urlOption())
    .addOption(keyOption())
    .addOption(timeoutOption())
    .option('--json', 'print the JSON of GET /v1/requests/{id}')
    .action(run(async () => (await import('./commands/record.ts')).showRequest));
  addExamples(request, ['warp-signature-aggregator request 2kZ9… --api-key "$KEY"']);
}

function addServiceCommands(program: Command, run: Run): void {
  const identity = program
    .command('identity')
    .description('Print the NodeID for L1s that admit only listed nodes; creates a missing identity');
  identity
    .option('--config <file>', 'the configuration of the service, which names the identity')
    .action(run(async () => (await import('./commands/service.ts')).printIdentity));
  program
    .command('convert')
    .description('Convert a configuration file of the Go signature aggregator, and print the result')
    .argument('<file>', 'the --config-file of signature-aggregator')
    .action(run(async () => (await import('./commands/convert.ts')).convert))
    .addHelpText(
      'after',
      `
Reads the network ID from the info API in the file. Keys without a counterpart are explained on standard error.
${examples(['warp-signature-aggregator convert signature-aggregator.json > config.json'])}`,
    );
  const serve = program
    .command('serve', { isDefault: true })
    .description('Run the service, like npm start')
    .allowExcessArguments();
  addServiceOptions(serve)
    .hook('preAction', () => {
      const [unknown] = serve.args;
      if (unknown !== undefined) program.error(describeUnknown(unknown, program));
    })
    .action(run(async () => (await import('./commands/service.ts')).runService))
    .addHelpText(
      'after',
      `
Without --config the service runs a devnet: a P-Chain API and validators with the real peer-to-peer protocol, on loopback.
All other settings are in the file or in environment variables: see config/README.md.

Signals: SIGTERM and SIGINT stop the service when the running requests are answered, a SIGINT a second or more after the first at
once; SIGHUP reloads the configuration, or stops the service if its terminal was closed.
${examples(['warp-signature-aggregator serve', 'warp-signature-aggregator serve --config fuji.json --port 80'])}`,
    );
  const doctor = program
    .command('doctor')
    .description('Try a configuration on its networks, and print what works, what does not, and what to do about it')
    .option('--config <file>', 'the configuration of the service; without it, a devnet is started and tried')
    .option('--own-identity', 'use the configured identity, while the service is stopped; default: a temporary one')
    .option('--json', 'print the report as JSON: docs/doctor.schema.json')
    .action(run(async () => (await import('./doctor/doctor.ts')).runDoctor));
  doctor.addHelpText(
    'after',
    `
Calls each endpoint of each network alone, connects to the validators and asks the 20 heaviest for a signature, and opens the store,
the identity and the ports as the service does, without changing them. It takes up to a minute. Keys and passwords are masked, so that the output can be part of a bug report.

Exit codes: 0 the service works; 1 something has to be changed; 3 it does not work now, and may later.
${examples(['warp-signature-aggregator doctor --config config/fuji.json', 'warp-signature-aggregator doctor --config my.json --json > report.json'])}`,
  );
  program
    .command('health')
    .description(
      'Exit with 0 if the service on this machine answers, else with 1 after a failure, 2 for wrong arguments, 3 without an answer',
    )
    .usage('[--url <url>] [--of-process <n>] [options of the service]')
    .option('--url <url>', 'a service elsewhere, in place of the options')
    .argument('[options...]', 'the options of the service; --of-process <n> takes those of a process')
    .allowUnknownOption()
    .action(run(async () => (await import('./commands/health.ts')).checkHealth));
}

function addInput(command: Command): Command {
  return command.option('--file <file>', 'read the input from a file; default: standard input');
}

function addService(command: Command): Command {
  return command
    .addOption(urlOption())
    .option('--network <name>', 'the name of the network; optional if there is only one')
    .addOption(keyOption());
}

function urlOption(): Option {
  return new Option('--url <url>', 'a running service').default(DEFAULT_URL).env('WARP_API_URL');
}

function keyOption(): Option {
  return new Option('--api-key <key>', 'API key of the service').env('WARP_API_KEY');
}

function addSource(command: Command): Command {
  return addService(command)
    .option('--config <file>', 'ask the validators directly, with a configuration of the service')
    .hook('preAction', (run) => {
      // In place of `conflicts`, which counts the variable too.
      if (run.getOptionValueSource('url') !== 'cli' || run.getOptionValue('config') === undefined) return;
      run.error("option '--url <url>' cannot be used with option '--config <file>'");
    });
}

function addHeightOptions(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--height <n>',
        "the P-Chain height of the validator set; default: that of the destination's epoch, else the proposed height",
      ).argParser(wholeNumber(Number.MAX_SAFE_INTEGER)),
    )
    .option('--destination <id>', 'the verifying chain: takes the signers, the quorum and the height that it demands');
}

function quorumOption(): Option {
  return new Option('--quorum <percent>', 'percentage of the weight that must sign (default 67)').argParser(
    wholeNumber(100),
  );
}

function timeoutOption(): Option {
  return new Option('--timeout <seconds>', 'the longest wait')
    .argParser(wholeNumber(MAX_TIMEOUT_SECONDS, 1))
    .default(DEFAULT_TIMEOUT_SECONDS);
}

/** As for the service. */
const MAX_WAIT_SECONDS = 30;
/** A day; timers of Node end at 24 days. */
const MAX_TIMEOUT_SECONDS = 86_400;

function describeUnknown(word: string, program: Command): string {
  const names = program.commands.map((command) => command.name());
  if (names.includes(word)) return `write the command before its options: ${program.name()} ${word} …`;
  const nearest = nearestName(word, names);
  return `unknown command '${word}'${nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`}`;
}

function addExamples(command: Command, lines: readonly string[]): void {
  command.addHelpText('after', examples(lines));
}

function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;
}

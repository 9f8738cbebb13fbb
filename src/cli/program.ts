import { styleText } from 'node:util';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { nearestName } from '../lib/encoding/nearest-name.ts';
import type { ReadingForm } from '../warp/reading.ts';
import type { AggregateOptions } from './commands/aggregate.ts';
import { SHELLS } from './commands/completion.ts';
import type { DecodeOptions } from './commands/decode.ts';
import type { SubnetOptions } from './commands/subnet.ts';
import type { VerifyOptions } from './commands/verify.ts';
import { addServiceOptions, type ServiceOptions } from './io/service-options.ts';

/** Those of warp/reading.ts, which is loaded by the command alone: help and completion need none of its code. */
const FORMS: readonly ReadingForm[] = ['signedMessage', 'unsignedMessage', 'payload', 'content', 'justification'];
const DEFAULT_URL = 'http://127.0.0.1:8080';
const DEFAULT_TIMEOUT_SECONDS = 60;

type OnExit = (code: number) => void;

/** Every command, with its options and its help. What a command does is loaded when it runs. */
export function createProgram(version: string, onExit: OnExit): Command {
  const program = new Command('warp-signature-aggregator')
    .description('Collects, aggregates, verifies and reads Avalanche Warp messages. Without a command it serves.')
    .version(version, '--version', 'print the version')
    .helpOption('-h, --help', 'print this text')
    .configureHelp({ styleTitle: (text) => styleText('bold', text, { validateStream: false }) })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, '')) })
    .exitOverride()
    .enablePositionalOptions();
  addDecode(program, onExit);
  addVerify(program, onExit);
  addAggregate(program, onExit);
  addSubnet(program, onExit);
  addServiceCommands(program, onExit);
  program
    .command('completion')
    .description('Print what completes these commands in a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { completionScript } = await import('./commands/completion.ts');
      process.stdout.write(completionScript(shell, program));
    })
    .addHelpText(
      'after',
      examples([
        ['source <(warp-signature-aggregator completion bash)', 'in ~/.bashrc'],
        ['source <(warp-signature-aggregator completion zsh)', 'in ~/.zshrc, after compinit'],
        ['warp-signature-aggregator completion fish | source', 'in ~/.config/fish/config.fish'],
      ]),
    );
  for (const command of program.commands) command.showHelpAfterError(`See ${program.name()} ${command.name()} --help`);
  return program.showHelpAfterError(`See ${program.name()} --help`).addHelpText(
    'after',
    `
Input is an argument, a file (--file) or standard input, in hex. Results go to standard output, all else to standard error.
Texts are coloured on a terminal only, and not where NO_COLOR is set.

Exit codes: 0 done, or valid; 1 not valid, or not signed; 2 wrong arguments, input or configuration; 3 somebody cannot be
reached now, and the same call may do later; 70 a bug.
serve: 0 after SIGINT or SIGTERM, 1 on a failure, 2 on wrong arguments or configuration.`,
  );
}

function addDecode(program: Command, onExit: OnExit): void {
  const decode = program
    .command('decode')
    .description('Read a Warp message, signed or not, a payload, its content or a justification, offline')
    .argument('[data]', 'hex, with or without 0x');
  addInput(decode)
    .addOption(new Option('--as <form>', 'as what to read it; by default as all that it can be').choices(FORMS))
    .option('--json', 'as JSON, as POST …/decode answers it')
    .action(async (data: string | undefined, options: DecodeOptions) => {
      const { decode: run } = await import('./commands/decode.ts');
      onExit(await run(data, options));
    })
    .addHelpText(
      'after',
      examples([
        ['warp-signature-aggregator decode 0x000000000001…', ''],
        ['warp-signature-aggregator decode --file message.hex --json', ''],
        ['pbpaste | warp-signature-aggregator decode --as justification', ''],
      ]),
    );
}

function addVerify(program: Command, onExit: OnExit): void {
  const verify = program
    .command('verify')
    .description('Check a signed Warp message as a destination chain would, and say who signed it')
    .argument('[signedMessage]', 'hex, with or without 0x');
  addInput(verify)
    .option('--set <file>', 'the validator set: what subnet --json prints, or platform.getValidatorsAt answers')
    .option(
      '--p-chain <url>',
      'have the validator set from the P-Chain API of a node, such as https://api.avax.network',
    )
    .addOption(quorumOption())
    .option('--subnet <id>', 'whose validators had to sign; default: the subnet of the source chain (with --p-chain)');
  addHeightOptions(verify)
    .option('--network-id <n>', 'the network ID that the message must have (with --set)', wholeNumber(0xffff_ffff))
    .addOption(timeoutOption())
    .option('--json', 'as JSON, as POST …/verify answers it')
    .action(async (data: string | undefined, options: VerifyOptions) => {
      const { verify: run } = await import('./commands/verify.ts');
      onExit(await run(data, options));
    })
    .addHelpText(
      'after',
      examples([
        ['warp-signature-aggregator verify --set validators.json --file signed.hex', 'offline'],
        ['warp-signature-aggregator verify --p-chain https://api.avax-test.network 0x0000…', ''],
      ]),
    );
}

function addAggregate(program: Command, onExit: OnExit): void {
  const aggregate = program
    .command('aggregate')
    .description(
      "Have the validators sign a Warp message: prints the signed one, and shows the validators' weight fill up",
    )
    .argument('[message]', 'the unsigned message in hex, with or without 0x');
  addInput(aggregate);
  addSource(aggregate)
    .option('--transaction <id>', 'sign what the P-Chain says about this transaction; takes no message')
    .option(
      '--justification <hex>',
      'what validators need to sign some messages of the P-Chain; alone, its message is found',
    )
    .addOption(quorumOption())
    .option('--buffer <percent>', 'how much to try for beyond the quorum (default 0)', wholeNumber(100))
    .option('--subnet <id>', 'whose validators sign; default: the subnet of the source chain');
  addHeightOptions(aggregate)
    .addOption(timeoutOption())
    .option('--json', 'as JSON, as the service answers it')
    .action(async (data: string | undefined, options: AggregateOptions) => {
      const { aggregate: run } = await import('./commands/aggregate.ts');
      onExit(await run(data, options));
    })
    .addHelpText(
      'after',
      examples([
        ['warp-signature-aggregator aggregate --url https://aggregator.example 0x0000…', 'of a service'],
        ['warp-signature-aggregator aggregate --config fuji.json --file message.hex > signed.hex', 'without one'],
        ['warp-signature-aggregator aggregate --network fuji --transaction 2wzK…', ''],
      ]),
    );
}

function addSubnet(program: Command, onExit: OnExit): void {
  const subnet = program
    .command('subnet')
    .description('The validators of a subnet: who can sign, who is not reached and why')
    .argument('[subnet]', 'its ID, in cb58 or hex; default: the primary network');
  addSource(subnet);
  addHeightOptions(subnet)
    .addOption(timeoutOption())
    .option('--json', 'as JSON, as GET …/subnets/{subnetId} answers it; verify --set reads it')
    .action(async (subnetID: string | undefined, options: SubnetOptions) => {
      const { showSubnet } = await import('./commands/subnet.ts');
      onExit(await showSubnet(subnetID, options));
    })
    .addHelpText(
      'after',
      examples([
        ['warp-signature-aggregator subnet 2qT7…', 'as the service on this machine sees it'],
        ['warp-signature-aggregator subnet --config fuji.json 2qT7… --json > validators.json', ''],
      ]),
    );
}

function addServiceCommands(program: Command, onExit: OnExit): void {
  const identity = program
    .command('identity')
    .description(
      'Print the NodeID that L1s with a list of allowed nodes have to list; makes the identity where there is none',
    );
  identity
    .option('--config <file>', 'the configuration of the service, which names the identity')
    .action(async (options: Pick<ServiceOptions, 'config'>) => {
      const { runService } = await import('./commands/service.ts');
      onExit(await runService('identity', options));
    });
  program
    .command('convert')
    .description('Print the configuration that means the same as a file of the Go signature aggregator')
    .argument('<file>', 'what signature-aggregator has as --config-file')
    .action(async (file: string) => {
      const { convert } = await import('./commands/convert.ts');
      onExit(await convert(file));
    })
    .addHelpText(
      'after',
      `
The info API that the file names is asked for the network ID. Keys without a counterpart are explained on standard error.
${examples([['warp-signature-aggregator convert signature-aggregator.json > config.json', '']])}`,
    );
  const serve = program
    .command('serve', { isDefault: true })
    .description('Run the service, as npm start does')
    .allowExcessArguments();
  addServiceOptions(serve)
    .action(async (options: ServiceOptions) => {
      const [unknown] = serve.args;
      if (unknown !== undefined) program.error(describeUnknown(unknown, program));
      const { runService } = await import('./commands/service.ts');
      onExit(await runService('serve', options));
    })
    .addHelpText(
      'after',
      `
Without --config the service runs on a devnet: a P-Chain API and validators that speak the real
peer-to-peer protocol, on loopback. Every other setting stands in the file or in a variable of the environment: see
config/README.md.

Signals: SIGTERM and SIGINT stop the service, a second one at once; SIGHUP has it reload its configuration, or stops it where its
terminal was closed.
${examples([
  ['warp-signature-aggregator serve', ''],
  ['warp-signature-aggregator serve --config fuji.json --port 80', ''],
])}`,
    );
  program
    .command('health')
    .description('Exit with 0 if the service answers on this machine, else with 1')
    .usage('[--of-process <n>] [options of the service]')
    .argument(
      '[options...]',
      'the options of the service; with --of-process <n> those of a process, where it is the service',
    )
    .allowUnknownOption()
    .action(async (args: readonly string[]) => {
      const { checkHealth } = await import('./commands/health.ts');
      onExit(await checkHealth(args));
    });
}

function addInput(command: Command): Command {
  return command.option('--file <file>', 'read it from a file; without a file or an argument, from standard input');
}

/** Whom the command asks. */
function addSource(command: Command): Command {
  return command
    .addOption(new Option('--url <url>', 'a running service').default(DEFAULT_URL).conflicts('config'))
    .option('--config <file>', 'ask the validators from here, with a configuration of the service')
    .option(
      '--network <name>',
      'the network, as the service or the configuration names it; may be left out where there is one',
    )
    .addOption(new Option('--api-key <key>', 'for a service that wants one').env('WARP_API_KEY'));
}

function addHeightOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--height <n>', 'the P-Chain height of the validator set; default: the one proposed now')
        .argParser(wholeNumber(Number.MAX_SAFE_INTEGER))
        .conflicts('destination'),
    )
    .option('--destination <id>', 'the chain that will verify: the height is that of its current epoch');
}

function quorumOption(): Option {
  return new Option('--quorum <percent>', 'of the weight that must sign (default 67)').argParser(wholeNumber(100));
}

function timeoutOption(): Option {
  return new Option('--timeout <seconds>', 'how long to wait at most')
    .argParser(wholeNumber(MAX_TIMEOUT_SECONDS, 1))
    .default(DEFAULT_TIMEOUT_SECONDS);
}

/** A day: timers of Node hold 24 days. */
const MAX_TIMEOUT_SECONDS = 86_400;

function wholeNumber(max: number, min = 0): (text: string) => number {
  return (text) => {
    const number = Number(text);
    if (/^\d+$/.test(text) && number >= min && number <= max) return number;
    throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  };
}

function describeUnknown(word: string, program: Command): string {
  const names = program.commands.map((command) => command.name());
  if (names.includes(word)) return `the command stands before its options: ${program.name()} ${word} …`;
  const nearest = nearestName(word, names);
  return `unknown command '${word}'${nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`}`;
}

function examples(lines: readonly (readonly [command: string, comment: string])[]): string {
  const shown = lines.map(([command, comment]) => `  ${command}${comment === '' ? '' : `   # ${comment}`}`);
  return `\nExamples:\n${shown.join('\n')}`;
}

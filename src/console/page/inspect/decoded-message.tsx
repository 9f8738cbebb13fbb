import type { ComponentChild, ComponentChildren } from 'preact';
import type { DecodedPayload, DecodedReading } from '../../../api/messages/message-records.ts';
import { useSession } from '../session.ts';
import { Badge, Facts, Id } from '../ui/controls.tsx';
import { duration, grouped, tokenAmount, unixTime } from '../ui/figures.ts';
import { textOfHex } from '../ui/hex.ts';
import { readTokenTransfer } from './token-transfer.ts';

type Content = NonNullable<Extract<DecodedPayload, { kind: 'AddressedCall' }>['content']>;
type Message = Extract<DecodedReading, { as: 'signedMessage' | 'unsignedMessage' }>;
type ChainNames = ReadonlyMap<string, string>;
type Rows = readonly (readonly [string, ComponentChildren] | undefined | false)[];

const READING_NAMES: Readonly<Record<DecodedReading['as'], string>> = {
  signedMessage: 'Signed Warp message',
  unsignedMessage: 'Unsigned Warp message',
  payload: 'Warp payload',
  content: 'Content of an addressed call',
  justification: 'Justification',
};

/** What bytes are about, in one line, and their fields in groups with titles. */
interface Description {
  readonly summary: string;
  readonly groups: readonly (readonly [title: string, rows: Rows])[];
}

/** What pasted bytes say. */
export function DecodedMessage({ reading }: { reading: DecodedReading }): ComponentChild {
  const { chainNames } = useSession();
  const { summary, groups } = describeReading(reading, chainNames);
  return (
    <div class="decoded">
      <p class="decoded-lead">
        <Badge tone={reading.as === 'signedMessage' ? 'good' : 'info'}>{READING_NAMES[reading.as]}</Badge>
        <span class="decoded-what">{summary}</span>
      </p>
      {groups.map(([title, rows]) => (
        <div key={title} class="facts-group">
          <h3>{title}</h3>
          <Facts rows={rows} />
        </div>
      ))}
    </div>
  );
}

function describeReading(reading: DecodedReading, names: ChainNames): Description {
  switch (reading.as) {
    case 'signedMessage':
    case 'unsignedMessage':
      return describeMessage(reading, names);
    case 'payload':
      return describePayload(reading.payload, names);
    case 'content':
      return describeContent(reading.content, names);
    case 'justification': {
      const { justification } = reading;
      if (justification.kind === 'SubnetIDIndex') {
        const { index, subnetId, validationId } = justification;
        const rows: Rows = [
          ['Subnet', id(subnetId, 'subnet ID')],
          ['Index', String(index)],
          ['Validation', id(validationId, 'validation ID')],
        ];
        return {
          summary: `Validator ${index} of a subnet's conversion`,
          groups: [['Validator of the conversion', rows]],
        };
      }
      const { content, validationId, message } = justification;
      const rows: Rows = [
        validationId !== undefined && ['Validation', id(validationId, 'validation ID')],
        ['Message', id(`0x${message}`, 'registration message')],
      ];
      const more = content === undefined ? [] : describeContent(content, names).groups;
      return { summary: 'The registration of an L1 validator', groups: [['Registration', rows], ...more] };
    }
  }
}

function describeMessage(message: Message, names: ChainNames): Description {
  const { network, networkId, sourceChain, sourceBlockchainId } = message;
  const source = sourceChain === undefined ? names.get(sourceBlockchainId) : `${sourceChain}-Chain`;
  const rows: Rows = [
    ['Network', network === undefined ? `ID ${networkId}` : `${network} (ID ${networkId})`],
    ['Source chain', [source && <strong>{source}</strong>, id(sourceBlockchainId, 'source blockchain ID')]],
    ['Message ID', id(message.messageId, 'message ID')],
    message.as === 'signedMessage' && [
      'Signers',
      `${message.signature.signers.length} validators, by their index in the set`,
    ],
  ];
  const { summary, groups } = describePayload(message.payload, names);
  return { summary, groups: [['Message', rows], ...groups] };
}

function describePayload(payload: DecodedPayload, names: ChainNames): Description {
  switch (payload.kind) {
    case 'Hash':
      return {
        summary: 'A hash, such as that of a block',
        groups: [['Hash payload', [['Hash', id(`0x${payload.hash}`, 'hash')]]]],
      };
    case 'AddressedCall': {
      const { sourceAddress, content } = payload;
      const inner = content && describeContent(content, names);
      const rows: Rows = [
        ['Sent by', sourceAddress === '' ? 'the chain itself' : id(`0x${sourceAddress}`, 'source address')],
        content === undefined && ['Bytes', bytesValue(payload.payload, 'payload')],
      ];
      return {
        summary: inner?.summary ?? 'A call with bytes of its own',
        groups: [['Addressed call', rows], ...(inner?.groups ?? [])],
      };
    }
    case 'unknown': {
      const rows: Rows = [
        ['Not known', payload.reason],
        ['Bytes', bytesValue(payload.bytes, 'payload')],
      ];
      return { summary: 'A payload of no known kind', groups: [['Payload', rows]] };
    }
  }
}

function describeContent(content: Content, names: ChainNames): Description {
  if (content.kind === 'TeleporterMessage') return describeTeleporter(content, names);
  if (content.kind === 'SubnetToL1Conversion') {
    const rows: Rows = [['Conversion ID', id(content.conversionId, 'conversion ID')]];
    return { summary: 'A subnet has become an L1', groups: [['Subnet conversion', rows]] };
  }
  const validation = ['Validation', id(content.validationId, 'validation ID')] as const;
  switch (content.kind) {
    case 'RegisterL1Validator': {
      const rows: Rows = [
        ['Node', id(content.nodeId, 'NodeID')],
        ['Weight', grouped(content.weight)],
        ['Subnet', id(content.subnetId, 'subnet ID')],
        ['Until', unixTime(content.expiry)],
        validation,
        ['BLS key', id(`0x${content.blsPublicKey}`, 'BLS public key')],
        ['Balance goes back to', ownerValue(content.remainingBalanceOwner)],
        ['Can be disabled by', ownerValue(content.disableOwner)],
      ];
      return {
        summary: 'An L1 asks the P-Chain to register a validator',
        groups: [['Register L1 validator', rows]],
      };
    }
    case 'L1ValidatorRegistration':
      return {
        summary: content.registered
          ? 'The P-Chain confirms that an L1 validator is registered'
          : 'The P-Chain confirms that an L1 validator is registered no more, and never will be',
        groups: [['L1 validator registration', [['Registered', content.registered ? 'yes' : 'no'], validation]]],
      };
    case 'L1ValidatorWeight': {
      const rows: Rows = [['Weight', grouped(content.weight)], ['Nonce', content.nonce], validation];
      return {
        summary:
          content.weight === '0'
            ? 'An L1 validator is removed: its weight becomes 0'
            : `The weight of an L1 validator becomes ${grouped(content.weight)}`,
        groups: [['L1 validator weight', rows]],
      };
    }
    case 'ValidatorUptime': {
      const uptime = duration(Number(content.totalUptime) * 1_000);
      const rows: Rows = [['Uptime', `${grouped(content.totalUptime)} s (${uptime})`], validation];
      return { summary: `An L1 validator was up for ${uptime}`, groups: [['Validator uptime', rows]] };
    }
  }
}

function describeTeleporter(content: Extract<Content, { kind: 'TeleporterMessage' }>, names: ChainNames): Description {
  const { destinationBlockchainId, allowedRelayerAddresses: relayers, receipts } = content;
  const transfer = readTokenTransfer(content.message);
  const destination = names.get(destinationBlockchainId);
  const rows: Rows = [
    ['From', id(content.originSenderAddress, 'sender address')],
    ['To', id(content.destinationAddress, 'destination address')],
    [
      'On chain',
      [destination && <strong>{destination}</strong>, id(destinationBlockchainId, 'destination blockchain ID')],
    ],
    ['Nonce', grouped(content.messageNonce)],
    ['Gas limit', grouped(content.requiredGasLimit)],
    ['Relayers', relayers.length === 0 ? 'anybody may deliver it' : relayers.join(', ')],
    receipts.length > 0 && [
      'Receipts',
      receipts.map(({ receivedMessageNonce }) => `nonce ${receivedMessageNonce}`).join(', '),
    ],
    transfer === undefined && ['Bytes', bytesValue(content.message, 'Teleporter payload')],
  ];
  if (transfer === undefined) {
    return { summary: 'A Teleporter message to a contract', groups: [['Teleporter message', rows]] };
  }
  const fields = transfer.fields.map(({ name, kind, value }) => [name, transferValue(name, kind, value)] as const);
  return {
    summary: `${transfer.type}, by Teleporter`,
    groups: [
      ['Teleporter message', rows],
      [`Token transfer: ${transfer.type}`, fields],
    ],
  };
}

function transferValue(name: string, kind: string, value: string): ComponentChildren {
  switch (kind) {
    case 'amount':
      return tokenAmount(BigInt(value));
    case 'number':
      return grouped(value);
    case 'bytes':
      return bytesValue(value, name);
    default:
      return id(value, name);
  }
}

function ownerValue({ threshold, addresses }: { threshold: number; addresses: readonly string[] }): ComponentChildren {
  if (addresses.length === 0) return 'nobody';
  return `${threshold} of ${addresses.map((address) => `0x${address}`).join(', ')}`;
}

function id(value: string, what: string): ComponentChild {
  return <Id value={value} what={what} />;
}

/** As text, too, where it is one. */
function bytesValue(hex: string, what: string): ComponentChildren {
  if (hex === '') return 'none';
  const text = textOfHex(hex);
  return [text !== undefined && <q class="as-text">{text}</q>, id(`0x${hex}`, what)];
}

import type { ComponentChild } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { FeedMessageRecord, MessagePageBody } from '../../../api/feed/feed-records.ts';
import { failureOf } from '../console-api.ts';
import { MIN_ID_LENGTH, type Place, useSession } from '../session.ts';
import { Card, Id, NamedId, SelectField, TextField } from '../ui/controls.tsx';
import { dateTime, dayTime, grouped, shortened } from '../ui/figures.ts';
import { type Polled, Stale } from '../ui/polled.tsx';
import { type Column, swatched, Table } from '../ui/table.tsx';
import { MessageDetail } from './message-detail.tsx';
import { keyOf, RECENT, useMessages } from './use-messages.ts';

/** Colours of the outcomes of validators. */
const STATUS_COLOURS = { signed: 'signed', pending: 'asked', failed: 'refused' } as const;
const STATUSES = ['', 'pending', 'signed', 'failed'] as const;
const ADDRESS_LENGTH = 42;

/** Messages of the watched chains, and one of them in full. */
export function MessagesView({ place }: { place: Place }): ComponentChild {
  const { rest: id, query } = place;
  const linked = (name: string) => query.get(name) ?? '';
  return [
    id !== undefined && <MessageDetail key={id} id={id} />,
    <MessageList key={String(query)} chain={linked('sourceBlockchainId')} sender={linked('sender')} />,
  ];
}

/** @param props the filters of the address */
function MessageList(props: { chain: string; sender: string }): ComponentChild {
  const { nameOf } = useSession();
  const [status, setStatus] = useState<(typeof STATUSES)[number]>('');
  const [chain, setChain] = useState(props.chain);
  const [sender, setSender] = useState(props.sender);
  const [destination, setDestination] = useState('');
  const filter = {
    status,
    sourceBlockchainId: chain,
    sender: sender.trim().length === ADDRESS_LENGTH ? sender.trim() : '',
    destinationBlockchainId: destination.trim().length < MIN_ID_LENGTH ? '' : destination.trim(),
  };
  /** Cursors of the pages up to this one, which belong to the filter. */
  const [pages, setPages] = useState({ filter: '', cursors: [] as readonly string[] });
  const cursors = pages.filter === JSON.stringify(filter) ? pages.cursors : [];
  const show = (next: readonly string[]) => {
    setPages({ filter: JSON.stringify(filter), cursors: next });
    card.current?.scrollIntoView({ block: 'start' });
  };
  const card = useRef<HTMLDivElement>(null);
  const list = useMessages(filter, cursors.at(-1) ?? RECENT);
  const [known, setKnown] = useState<readonly string[]>([]);
  const chains = list.value?.chains.map(({ blockchainId }) => blockchainId) ?? [];
  if (chain === '' && chains.length > 0 && String(chains) !== String(known)) setKnown(chains);
  const isOff = list.error !== undefined && failureOf(list.error).code === 'feed_not_configured';
  return (
    <div ref={card} class="view scroll-place">
      <Card title="Messages of watched chains">
        {isOff ? (
          <p>{failureOf(list.error).message}</p>
        ) : (
          [
            <div class="filters">
              <SelectField
                label="Status"
                value={status}
                onValue={setStatus}
                options={STATUSES.map((value) => [value, value === '' ? 'all' : value] as const)}
              />
              <SelectField
                label="Chain"
                value={chain}
                onValue={setChain}
                options={[
                  ['', 'all'],
                  ...known.map((each) => [each, nameOf(each, 'chain') ?? shortened(each)] as const),
                ]}
              />
              <TextField label="Sender" placeholder="0x…" type="search" value={sender} onValue={setSender} />
              <TextField
                label="Destination"
                placeholder="blockchain ID"
                type="search"
                value={destination}
                onValue={setDestination}
              />
            </div>,
            <Messages list={list} />,
            <Pager list={list} cursors={cursors} onPage={show} />,
          ]
        )}
      </Card>
    </div>
  );
}

/** Leads to older messages, and back. Its buttons stay, so that they keep the focus. */
function Pager(props: {
  list: Polled<MessagePageBody>;
  cursors: readonly string[];
  onPage: (cursors: readonly string[]) => void;
}): ComponentChild {
  const { list, cursors, onPage } = props;
  const { messages = [], hasMore = false, nextCursor = '' } = list.value ?? {};
  const [newest, oldest] = [messages[0], messages.at(-1)];
  return (
    <nav class="card-aside" aria-label="Pages of messages">
      <button type="button" class="button small" aria-disabled={cursors.length === 0} onClick={() => onPage([])}>
        Newest
      </button>
      <button
        type="button"
        class="button small"
        aria-disabled={cursors.length === 0}
        onClick={() => onPage(cursors.slice(0, -1))}
      >
        Newer
      </button>
      <button
        type="button"
        class="button small"
        aria-disabled={!hasMore}
        onClick={() => hasMore && onPage([...cursors, nextCursor])}
      >
        Older
      </button>
      {newest !== undefined && oldest !== undefined && (
        <span class="hint">{`${dayTime(newest.blockTime)} back to ${dayTime(oldest.blockTime)}`}</span>
      )}
    </nav>
  );
}

function Messages({ list }: { list: Polled<MessagePageBody> }): ComponentChild {
  const { nameOf } = useSession();
  const named = (id: string) => nameOf(id, 'chain') ?? shortened(id);
  const columns: Column<FeedMessageRecord>[] = [
    { name: 'Block', cell: ({ blockTime }) => dayTime(blockTime), full: ({ blockTime }) => dateTime(blockTime) },
    { name: 'Status', cell: ({ status }) => swatched(STATUS_COLOURS[status], status) },
    {
      name: 'Message',
      cell: ({ messageId }) => <MessageLink id={messageId} text={shortened(messageId)} />,
      full: ({ messageId }) => <MessageLink id={messageId} text={messageId} />,
    },
    {
      name: 'From',
      isWide: true,
      cell: ({ sourceBlockchainId, blockNumber }) => `${named(sourceBlockchainId)}, block ${grouped(blockNumber)}`,
      full: ({ sourceBlockchainId }) => <NamedId value={sourceBlockchainId} kind="chain" what="blockchain ID" />,
    },
    {
      name: 'To',
      isWide: true,
      cell: ({ destinationBlockchainId: to }) => (to === undefined ? '–' : named(to)),
      full: ({ destinationBlockchainId: to }) =>
        to === undefined ? '–' : <NamedId value={to} kind="chain" what="blockchain ID" />,
    },
    {
      name: 'Sender',
      isWide: true,
      cell: ({ sender }) => <code>{shortened(sender)}</code>,
      full: ({ sender }) => <Id value={sender} what="address" />,
    },
  ];
  return (
    <Stale polled={list}>
      {list.value?.messages.length === 0 && <p class="hint">No message yet, or none that fits.</p>}
      {list.value !== undefined && list.value.messages.length > 0 && (
        <Table<FeedMessageRecord> label="Messages" columns={columns} rows={list.value.messages} keyOf={keyOf} />
      )}
    </Stale>
  );
}

function MessageLink({ id, text }: { id: string; text: string }): ComponentChild {
  return (
    <a href={`#/messages/${encodeURIComponent(id)}`}>
      <code>{text}</code>
    </a>
  );
}

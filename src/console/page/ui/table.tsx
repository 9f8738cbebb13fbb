import type { ComponentChild, ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { type FactRows, Facts, Id, Swatch } from './controls.tsx';
import { shortened } from './figures.ts';
import { useKeptFocus } from './kept-focus.tsx';

export interface Column<Row> {
  readonly name: string;
  readonly isNumber?: boolean;
  /** Shown on wide screens, and in an opened row. */
  readonly isWide?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
  /** Cut off where its text has no room; an opened row has all of it. */
  readonly isLong?: boolean;
  /** What an opened row shows, if the cell leaves something out. */
  readonly full?: (row: Row) => ComponentChildren;
  /** Ascending order; a column without it cannot be sorted. */
  readonly compare?: (a: Row, b: Row) => number;
}

interface Sorting {
  readonly column: string;
  readonly isDescending: boolean;
}

/** Whether the screen is a phone's, for which the style sheet hides wide columns. */
export function isNarrow(): boolean {
  return matchMedia('(max-width: 720px)').matches;
}

/** The first of the nodes of a validator; an opened row has all of them. */
export function nodeColumn<Row>(nodeIdsOf: (row: Row) => readonly string[]): Column<Row> {
  const first = (row: Row) => nodeIdsOf(row)[0] ?? '';
  return {
    name: 'Validator',
    cell: (row) => {
      const more = nodeIdsOf(row).length - 1;
      const id = shortened(first(row));
      // A phone has no room for the prefix.
      const [prefix, rest] = id.startsWith('NodeID-') ? ['NodeID-', id.slice(7)] : ['', id];
      return (
        <code>
          <span class="wide">{prefix}</span>
          {rest}
          {more > 0 && ` +${more}`}
        </code>
      );
    },
    full: (row) => nodeIdsOf(row).map((nodeId) => <Id key={nodeId} value={nodeId} what="NodeID" />),
    compare: (a, b) => first(a).localeCompare(first(b)),
  };
}

/** A word after the colour of a status or an outcome. A code breaks at its underscores. */
export function swatched(status: string, word: string): ComponentChildren {
  const parts = word.split(/(?<=_)/).map((part, index) => (index === 0 ? part : [<wbr />, part]));
  return [<Swatch colour={status} />, ...parts];
}

interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** The column by which the rows are sorted at first, in descending order. Without it they stay in their order. */
  readonly sortedBy?: string;
  /** What an opened row shows in place of all columns in full. */
  readonly openedFacts?: (row: Row) => FactRows;
}

/** Rows that are shown at once: thousands would take the browser seconds to lay out. */
const PAGE_ROWS = 100;

/** A table whose rows open, to show what has no room in them. */
export function Table<Row>(props: TableProps<Row>): ComponentChild {
  const { label, columns, rows, keyOf, sortedBy, openedFacts = (row: Row) => fullColumns(columns, row) } = props;
  const [sorting, setSorting] = useState(sortedBy === undefined ? undefined : { column: sortedBy, isDescending: true });
  const shown = useMemo(() => sorted(rows, columns, sorting), [rows, columns, sorting]);
  const [limit, setLimit] = useState(PAGE_ROWS);
  const [opened, setOpened] = useState<string | number>();
  const left = rows.length - limit;
  const box = useRef<HTMLDivElement>(null);
  useKeptFocus(box, [left > 0]);
  return (
    <div ref={box} class="table-box" tabIndex={0} role="region" aria-label={label}>
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <HeadCell<Row> key={column.name} column={column} sorting={sorting} onSorting={setSorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, limit).map((row) => {
            const key = keyOf(row);
            const isOpen = key === opened;
            return [
              <tr key={key} class="row" onClick={() => setOpened(isOpen ? undefined : key)}>
                {columns.map((column, index) => (
                  <td key={column.name} class={classOf(column)}>
                    {index === 0 && <button type="button" class="opener" aria-expanded={isOpen} aria-label="Details" />}
                    {column.cell(row)}
                  </td>
                ))}
              </tr>,
              isOpen && (
                <tr key={`${key} opened`} class="opened">
                  <td colSpan={isNarrow() ? columns.filter(({ isWide }) => !isWide).length : columns.length}>
                    <Facts rows={openedFacts(row)} />
                  </td>
                </tr>
              ),
            ];
          })}
        </tbody>
      </table>
      {left > 0 && (
        <button type="button" class="button small" onClick={() => setLimit(limit + PAGE_ROWS)}>
          {`Show ${Math.min(left, PAGE_ROWS)} more of ${left}`}
        </button>
      )}
    </div>
  );
}

function fullColumns<Row>(columns: readonly Column<Row>[], row: Row): FactRows {
  return columns.map(({ name, cell, full = cell }) => [name, full(row)]);
}

function HeadCell<Row>(props: {
  column: Column<Row>;
  sorting: Sorting | undefined;
  onSorting: (sorting: Sorting) => void;
}): ComponentChild {
  const { column, sorting, onSorting } = props;
  const { name, compare } = column;
  if (compare === undefined || sorting === undefined) {
    return (
      <th scope="col" class={classOf(column)}>
        {name}
      </th>
    );
  }
  const isChosen = sorting.column === name;
  const sort = !isChosen ? 'none' : sorting.isDescending ? 'descending' : 'ascending';
  const next = { column: name, isDescending: !isChosen || !sorting.isDescending };
  return (
    <th scope="col" class={classOf(column)} aria-sort={sort}>
      <button type="button" class="sort" onClick={() => onSorting(next)}>
        {name}
        <span aria-hidden>{{ none: '', descending: ' ↓', ascending: ' ↑' }[sort]}</span>
      </button>
    </th>
  );
}

function classOf({ isNumber, isWide, isLong }: Column<never>): string {
  return `${isNumber ? 'number' : ''} ${isWide ? 'wide' : ''} ${isLong ? 'long' : ''}`;
}

function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  sorting: Sorting | undefined,
): readonly Row[] {
  const compare = columns.find(({ name }) => name === sorting?.column)?.compare;
  if (sorting === undefined || compare === undefined) return rows;
  return rows.toSorted((a, b) => (sorting.isDescending ? compare(b, a) : compare(a, b)));
}

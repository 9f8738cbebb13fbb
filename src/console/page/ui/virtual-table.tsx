import type { ComponentChild, ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Column<Row> {
  readonly name: string;
  readonly className?: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Sorts upwards by it; a column without one cannot be sorted by. */
  readonly compare?: (a: Row, b: Row) => number;
}

export interface Sorting {
  readonly column: string;
  readonly isDescending: boolean;
}

const ROW_HEIGHT = 44;
/** Rows beyond both ends of what is seen, so that a fast scroll shows no gap. */
const OVERSCAN = 6;

interface RowsProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  readonly sorting?: Sorting;
  readonly onSorting?: (sorting: Sorting) => void;
  readonly maxHeight?: number;
}

/** A table of any length, of which only the rows that can be seen are there. */
export function VirtualTable<Row>({
  label,
  columns,
  rows,
  keyOf,
  sorting,
  onSorting,
  maxHeight = 480,
}: RowsProps<Row>): ComponentChild {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const visible = Math.ceil(maxHeight / ROW_HEIGHT);
  const start = Math.max(0, Math.min(Math.floor(top / ROW_HEIGHT) - OVERSCAN, rows.length - visible));
  const end = Math.min(rows.length, start + visible + 2 * OVERSCAN);
  useEffect(() => {
    // A filter that leaves few rows would leave an empty window on what was scrolled to.
    if (box.current !== null && top > rows.length * ROW_HEIGHT) box.current.scrollTop = 0;
  }, [rows.length]);
  return (
    <div
      class="table-box"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={label}
      style={{ maxHeight: `${maxHeight}px` }}
      onScroll={(event: Event) => setTop((event.currentTarget as HTMLElement).scrollTop)}
    >
      <table aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <HeadCell<Row> key={column.name} column={column} sorting={sorting} onSorting={onSorting} />
            ))}
          </tr>
        </thead>
        <tbody>
          {start > 0 && (
            <tr class="spacer" key="before" aria-hidden style={{ height: `${start * ROW_HEIGHT}px` }}>
              <td colSpan={columns.length} />
            </tr>
          )}
          {rows.slice(start, end).map((row, index) => (
            <tr key={keyOf(row)} aria-rowindex={start + index + 2}>
              {columns.map(({ name, className, cell }) => (
                <td key={name} class={className}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {end < rows.length && (
            <tr class="spacer" key="after" aria-hidden style={{ height: `${(rows.length - end) * ROW_HEIGHT}px` }}>
              <td colSpan={columns.length} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function HeadCell<Row>({
  column,
  sorting,
  onSorting,
}: {
  column: Column<Row>;
  sorting: Sorting | undefined;
  onSorting: ((sorting: Sorting) => void) | undefined;
}): ComponentChild {
  const { name, className, compare } = column;
  if (compare === undefined || sorting === undefined || onSorting === undefined)
    return (
      <th scope="col" class={className}>
        {name}
      </th>
    );
  const isChosen = sorting.column === name;
  const sort = !isChosen ? 'none' : sorting.isDescending ? 'descending' : 'ascending';
  return (
    <th scope="col" class={className} aria-sort={sort}>
      <button
        type="button"
        class="sort"
        onClick={() => onSorting({ column: name, isDescending: isChosen ? !sorting.isDescending : true })}
      >
        {name}
        <span aria-hidden>{!isChosen ? '' : sorting.isDescending ? ' ↓' : ' ↑'}</span>
      </button>
    </th>
  );
}

export function sorted<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { column, isDescending }: Sorting,
): Row[] {
  const compare = columns.find(({ name }) => name === column)?.compare;
  if (compare === undefined) return [...rows];
  return [...rows].sort((a, b) => (isDescending ? compare(b, a) : compare(a, b)));
}

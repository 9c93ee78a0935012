/** The first row and the position of each block of a file whose rows ascend: 12 bytes a block, twice that while it grows. */
export interface BlockIndex {
  size(): number;
  /** @param row larger than all before */
  add(row: number, position: number): void;
  /** @returns number of the block that contains `row`, if any block does; -1: all begin behind it */
  search(row: number): number;
  position(number: number): number;
  heldBytes(): number;
}

const FIRST_ROOM = 64;

export function createBlockIndex(): BlockIndex {
  let rows = new Uint32Array(FIRST_ROOM);
  let positions = new Float64Array(FIRST_ROOM);
  let size = 0;

  function grow(): void {
    const [oldRows, oldPositions] = [rows, positions];
    rows = new Uint32Array(2 * size);
    rows.set(oldRows);
    positions = new Float64Array(2 * size);
    positions.set(oldPositions);
  }

  return {
    size() {
      return size;
    },
    add(row, position) {
      if (size === rows.length) grow();
      rows[size] = row;
      positions[size] = position;
      size += 1;
    },
    search(row) {
      let low = 0;
      let high = size;
      while (low < high) {
        const middle = (low + high) >>> 1;
        if ((rows[middle] ?? 0) <= row) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    },
    position: (number) => positions[number] ?? 0,
    heldBytes() {
      return rows.byteLength + positions.byteLength;
    },
  };
}

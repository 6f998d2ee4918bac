// SPDX-License-Identifier: Apache-2.0
/**
 * Which connections of an HTTP server are closed so that all of them together stay within their limits. Those of the address that has most
 * of them come first, among these those that wait for their client, among these the one that has waited longest. So a client that holds
 * many keeps no other one out.
 */
export interface ConnectionLimits {
  readonly connections: number;
  /** The sum of the bodies and answers in memory, of all connections, without the largest. */
  readonly bytes: number;
}

export interface BudgetedConnection {
  readonly address: string | undefined;
  /** What it keeps in memory. Two connections may hold one object. */
  readonly held: { readonly length: number } | undefined;
  close(): void;
}

export interface ConnectionBudget<C extends BudgetedConnection> {
  /** False: there are too many, and a new one of this address would be the first to be closed. */
  admits(address: string | undefined): boolean;
  /** Closes another one if there are too many. */
  add(connection: C): void;
  remove(connection: C): void;
  waitsForClient(connection: C): void;
  isServed(connection: C): void;
  /** Closes others if too much is held. */
  makeRoomFor(connection: C): void;
}

export function createConnectionBudget<C extends BudgetedConnection>(limits: ConnectionLimits): ConnectionBudget<C> {
  const all = new Set<C>();
  /** In the order in which they began to wait. */
  const waiting = new Set<C>();

  const remove = (connection: C): void => {
    all.delete(connection);
    waiting.delete(connection);
  };
  const waitsForClient = (connection: C): void => {
    waiting.delete(connection);
    if (all.has(connection)) waiting.add(connection);
  };
  const drop = (candidates: readonly C[]): boolean => {
    const dropped = firstToGo(candidates, [...all]);
    if (dropped === undefined) return false;
    remove(dropped);
    dropped.close();
    return true;
  };
  /** Beside the largest, which may be a single page that every scraper needs. */
  const held = (): number => {
    const distinct = [...new Set([...all].map((connection) => connection.held))].map((each) => each?.length ?? 0);
    return distinct.reduce((sum, bytes) => sum + bytes, 0) - Math.max(0, ...distinct);
  };
  return {
    admits: (address) => {
      if (all.size < limits.connections) return true;
      const newest: Addressed = { address };
      return firstToGo([...waiting, newest, ...all], [newest, ...all]) !== newest;
    },
    add: (connection) => {
      all.add(connection);
      waitsForClient(connection);
      if (all.size > limits.connections) drop([...waiting, ...all]);
    },
    remove,
    waitsForClient,
    isServed: (connection) => void waiting.delete(connection),
    makeRoomFor: (newest) => {
      const isOver = (): boolean => held() > limits.bytes;
      while (isOver() && drop([...waiting].filter((each) => each !== newest && each.held !== undefined)));
    },
  };
}

type Addressed = Pick<BudgetedConnection, 'address'>;

/** The first candidate of the address that has most connections. */
function firstToGo<T extends Addressed>(candidates: readonly T[], all: readonly Addressed[]): T | undefined {
  const counts = new Map<string | undefined, number>();
  for (const { address } of all) counts.set(address, (counts.get(address) ?? 0) + 1);
  const most = Math.max(...candidates.map(({ address }) => counts.get(address) ?? 0));
  return candidates.find(({ address }) => counts.get(address) === most);
}

// SPDX-License-Identifier: Apache-2.0
import { expect, it } from 'vitest';
import { createStreams, type Streams } from './streams.ts';

const statesOf = (streams: Streams, ...ids: readonly number[]): string =>
  ids.map((id) => streams.stateOf(id)).join(' ');

it('given a client, then its streams have the odd numbers, and those that it has not begun are idle', () => {
  const streams = createStreams('client');
  expect(statesOf(streams, 1, 2, 3)).toBe('idle idle idle');
  expect([streams.begin(), streams.begin(), streams.count(), streams.ids()]).toEqual([1, 3, 2, [1, 3]]);
  expect(statesOf(streams, 1, 2, 3, 4, 5)).toBe('open idle open idle idle');
  expect(streams.get(1)).toStrictEqual({
    id: 1,
    peer: 'beforeHeaders',
    isSaid: false,
    received: 0,
    announced: undefined,
    used: 0,
  });
  expect(streams.lastOfPeer()).toBe(0);
  streams.clear();
  expect(streams.count()).toBe(0);
});

it('given a server, then a stream that the peer left out is skipped, and one that is not wanted is cut', () => {
  const streams = createStreams('server');
  expect(streams.accept(5).peer).toBe('afterHeaders');
  expect(statesOf(streams, 1, 3, 4, 5, 7)).toBe('skipped skipped idle open idle');
  streams.refuse(9);
  expect(statesOf(streams, 7, 9, 11)).toBe('skipped cut idle');
  expect([streams.lastOfPeer(), streams.count()]).toEqual([9, 1]);
});

it.each(['the peer', 'we'])(
  'given a stream of which %s said the last frame first, then the other end closes it',
  (first) => {
    const streams = createStreams('server');
    const stream = streams.accept(1);
    streams.peerSaid(stream, 'more');
    expect(streams.stateOf(1)).toBe('open');
    if (first === 'we') streams.weSaid(1);
    else streams.peerSaid(stream, 'last');
    expect(streams.stateOf(1)).toBe(first === 'we' ? 'open' : 'halfClosed');
    if (first === 'we') streams.peerSaid(stream, 'last');
    else streams.weSaid(1);
    expect([streams.stateOf(1), streams.count()]).toEqual(['closed', 0]);
  },
);

it('given a stream that was cut, then its last frames do not change how it ended', () => {
  const streams = createStreams('server');
  const stream = streams.accept(1);
  streams.end(1, 'cut');
  streams.weSaid(1);
  stream.isSaid = true;
  streams.peerSaid(stream, 'last');
  expect(streams.stateOf(1)).toBe('cut');
});

it('given more than two hundred streams that ended, then how the oldest ended is forgotten', () => {
  const streams = createStreams('server');
  for (let id = 3; id <= 401; id += 2) {
    streams.accept(id);
    streams.end(id, 'closed');
  }
  expect(statesOf(streams, 1, 3, 401)).toBe('skipped closed closed');
  streams.accept(403);
  streams.end(403, 'closed');
  expect(statesOf(streams, 1, 3, 5, 403)).toBe('cut cut closed closed');
});

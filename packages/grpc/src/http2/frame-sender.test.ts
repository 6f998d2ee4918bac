// SPDX-License-Identifier: Apache-2.0
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { createFrameSender } from './frame-sender.ts';
import { frameTypes } from './frames.ts';

/** A socket whose peer reads when the test says so. */
function unread() {
  const frames: string[] = [];
  const written: (() => void)[] = [];
  const write = (frame: Buffer, onWritten?: () => void): void => {
    frames.push(frame.toString('hex'));
    if (onWritten !== undefined) written.push(onWritten);
  };
  return { frames, written, send: createFrameSender({ write } as unknown as Socket) };
}

it('given frames, then they are written with their heads', () => {
  const { frames, send } = unread();
  send(frameTypes.data, { stream: 258, flags: 1 }, Buffer.from('ab'));
  send(frameTypes.settings, { stream: 0 }, Buffer.alloc(0));
  expect(frames).toEqual(['0000020001000001026162', '000000040000000000']);
});

it('given ten thousand frames that the peer does not read, then the next one is too much; data does not count', () => {
  const { written, send } = unread();
  const ping = (): void => send(frameTypes.ping, { stream: 0 }, Buffer.alloc(8));
  for (let count = 0; count < 10_000; count += 1) ping();
  send(frameTypes.data, { stream: 1 }, Buffer.of(1));
  expect(ping).toThrow(expect.objectContaining({ message: 'the peer does not read', code: 11 }));
  for (const read of written.slice(0, 2)) read();
  expect(ping).not.toThrow();
  expect(ping).toThrow('the peer does not read');
});

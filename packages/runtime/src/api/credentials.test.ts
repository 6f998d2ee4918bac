// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger, scriptedTransport, type ScriptedStep } from '../../testing/index.ts';
import { authenticated, cachedCredentials } from './credentials.ts';

const setUp = (...steps: [ScriptedStep, ...ScriptedStep[]]) => {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const file: { content: string | Error } = { content: 'Bearer one' };
  const reads: string[] = [];
  const credentials = cachedCredentials({
    clock,
    logger,
    read: async (why) => {
      reads.push(`${why}@${clock.monotonicMs() / 1000}`);
      await clock.sleep(0);
      if (file.content instanceof Error) throw file.content;
      return { authorization: file.content };
    },
  });
  const script = scriptedTransport(...steps);
  const transport = authenticated(script.transport, credentials, clock);
  const send = async (headers: Record<string, string> = {}): Promise<unknown> => {
    const call = transport({ method: 'GET', path: '/', headers, signal: new AbortController().signal }).then(
      ({ status }) => status,
      (error: unknown) => error,
    );
    await clock.advance(0);
    await clock.advance(0);
    return call;
  };
  const sent = (): (string | undefined)[] => script.requests.map(({ headers }) => headers['authorization']);
  return { clock, logger, file, reads, send, sent, ...script };
};

describe('a token that rotates', () => {
  it('[runtime#18] given a new token in the file, then requests use it 50 s after the last read', async () => {
    const { clock, file, send, sent, reads } = setUp({});
    await send();
    file.content = 'Bearer two';
    await clock.advance(49_999);
    await send();
    await clock.advance(1);
    await send();
    expect(sent()).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
    expect(reads).toEqual(['due@0', 'due@50']);
  });

  it('[runtime#19] given a file that cannot be read any more, then the old token serves and each attempt is logged', async () => {
    const { clock, logger, file, send, sent, reads } = setUp({});
    await send();
    const gone = new Error('gone');
    file.content = gone;
    for (let second = 0; second < 70; second += 1) {
      await clock.advance(1000);
      await send();
    }
    expect(new Set(sent())).toEqual(new Set(['Bearer one']));
    expect(reads).toEqual(['due@0', 'due@50', 'due@60', 'due@70']);
    expect(logger.lines).toEqual(
      [50, 60, 70].map(() => ({ kind: 'error', message: 'Unable to rotate token', facts: {}, error: gone })),
    );
  });

  it('given no token at all, then requests fail and nothing is sent', async () => {
    const { file, send, requests } = setUp({});
    file.content = new Error('read empty token from file "/t"');
    expect(await send()).toMatchObject({ failure: 'credentials', message: 'read empty token from file "/t"' });
    expect(requests).toEqual([]);
  });

  it('[runtime#23] given a hundred requests at once and no fresh token, then the file is read once', async () => {
    const { send, reads, sent } = setUp({});
    await Promise.all(Array.from({ length: 100 }, () => send()));
    expect([reads, sent().length]).toEqual([['due@0'], 100]);
  });
});

describe('a request that is refused', () => {
  it('[runtime#21] given a newer token in the file, then the request is sent once more with it', async () => {
    const { clock, file, send, sent, reads, openBodies } = setUp({}, { status: 401 }, {});
    await send();
    await clock.advance(5000);
    file.content = 'Bearer two';
    expect(await send()).toBe(200);
    expect(await send()).toBe(200);
    expect(sent()).toEqual(['Bearer one', 'Bearer one', 'Bearer two', 'Bearer two']);
    expect(reads).toEqual(['due@0', 'refused@5']);
    expect(openBodies()).toBe(3);
  });

  it('[runtime#22] given that the newest token is refused as well, then the caller receives the refusal', async () => {
    const { clock, file, send, sent } = setUp({}, { status: 401 });
    await send();
    await clock.advance(5000);
    file.content = 'Bearer two';
    expect(await send()).toBe(401);
    expect(sent()).toEqual(['Bearer one', 'Bearer one', 'Bearer two']);
  });

  it('[runtime#22] given the same token in the file, then the request is not repeated', async () => {
    const { clock, send, sent } = setUp({}, { status: 401 });
    await send();
    await clock.advance(5000);
    expect(await send()).toBe(401);
    expect(sent()).toEqual(['Bearer one', 'Bearer one']);
  });

  it('given a token that was read after the request was sent, then it is not read again', async () => {
    const { send, reads } = setUp({ status: 401 });
    expect(await send()).toBe(401);
    expect(reads).toEqual(['due@0']);
  });

  it('[runtime#26] given an Authorization header of the caller, then the token is neither read nor sent', async () => {
    const { send, sent, reads } = setUp({ status: 401 });
    expect(await send({ authorization: 'Bearer mine' })).toBe(401);
    expect([sent(), reads]).toEqual([['Bearer mine'], []]);
  });

  it('given a refusal during a read that finds the same token, then the file is read again before any request continues', async () => {
    const clock = new FakeClock();
    const [one, two] = [{ authorization: 'Bearer one' }, { authorization: 'Bearer two' }];
    const answers = [one, one, two];
    const reads: string[] = [];
    const { current, refused } = cachedCredentials({
      clock,
      logger: recordingLogger(),
      freshForMs: 0,
      read: (why) => {
        reads.push(why);
        return Promise.resolve(answers[reads.length - 1]!);
      },
    });
    expect(await current()).toBe(one);
    await clock.advance(1);
    const waiting = [current(), current()];
    refused(clock.monotonicMs());
    expect(await Promise.all([...waiting, current()])).toEqual([two, two, two]);
    expect(reads).toEqual(['due', 'due', 'refused']);
  });
});

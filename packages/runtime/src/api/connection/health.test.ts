// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { FakeClock, recordingLogger } from '../../../testing/index.ts';
import { checkHealth, healthFromEnvironment } from './health.ts';

describe('healthFromEnvironment', () => {
  it('given no variables, then the idle time is 30 s and the timeout 15 s', () => {
    expect(healthFromEnvironment({}, recordingLogger())).toEqual({ readIdleMs: 30_000, pingTimeoutMs: 15_000 });
  });

  it('[runtime#2] given HTTP2_READ_IDLE_TIMEOUT_SECONDS=0, then the check is off', () => {
    const clock = new FakeClock();
    const options = healthFromEnvironment({ HTTP2_READ_IDLE_TIMEOUT_SECONDS: '0' }, recordingLogger());
    using health = checkHealth(clock, options, { ping: () => expect.unreachable(), lost: () => expect.unreachable() });
    health.askNow(() => expect.unreachable());
    expect(clock.pending).toBe(0);
  });

  it('[runtime#3] given HTTP2_PING_TIMEOUT_SECONDS=abc, then a warning is logged, and the timeout is 15 s', () => {
    const logger = recordingLogger();
    const options = healthFromEnvironment({ HTTP2_PING_TIMEOUT_SECONDS: 'abc' }, logger);
    expect(options.pingTimeoutMs).toBe(15_000);
    expect(logger.lines).toEqual([
      {
        kind: 'warn',
        message: 'Illegal value of an environment variable, using the default',
        facts: { name: 'HTTP2_PING_TIMEOUT_SECONDS', value: 'abc', default: 15 },
      },
    ]);
  });
});

describe('checkHealth', () => {
  const setUp = (answers: 'answers' | 'answers at once' | 'silent', readIdleMs = 30_000) => {
    const clock = new FakeClock();
    const seen: string[] = [];
    const note = (what: string): void => {
      seen.push(`${what}@${clock.monotonicMs() / 1000}`);
    };
    const health = checkHealth(
      clock,
      { readIdleMs, pingTimeoutMs: 15_000 },
      {
        ping: (answered) => {
          note('ping');
          if (answers === 'answers') clock.timer(1000, answered);
          if (answers === 'answers at once') answered();
        },
        lost: () => note('lost'),
      },
    );
    return { clock, seen, health };
  };

  it('given a silent peer, then a PING is sent after 30 s, and the connection is lost 15 s later', async () => {
    const { clock, seen } = setUp('silent');
    await clock.advance(100_000);
    expect(seen).toEqual(['ping@30', 'lost@45']);
  });

  it('given a peer that answers, then the next PING is sent 30 s after the answer', async () => {
    const { clock, seen, health } = setUp('answers');
    await clock.advance(70_000);
    expect(seen).toEqual(['ping@30', 'ping@61']);
    health[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });

  it('given an idle time of 1 ms, then a PING is sent after it', async () => {
    const { clock, seen } = setUp('silent', 1);
    await clock.advance(1);
    expect(seen).toEqual(['ping@0.001']);
  });

  it('given two doubts at once and one later, then one PING is sent for both and one for the third, and each is answered once', async () => {
    const { clock, seen, health } = setUp('answers');
    const answered: number[] = [];
    for (const n of [1, 2]) health.askNow(() => answered.push(n));
    await clock.advance(1000);
    expect([seen, answered, health.heardMs()]).toEqual([['ping@0'], [1, 2], 1000]);
    health.askNow(() => answered.push(3));
    await clock.advance(1000);
    expect([seen, answered, health.heardMs()]).toEqual([['ping@0', 'ping@1'], [1, 2, 3], 2000]);
  });

  it('given a peer that answers while the PING is being sent, when the check ends, then no timer is left', async () => {
    const { clock, seen, health } = setUp('answers at once');
    await clock.advance(30_000);
    expect([seen, clock.pending]).toEqual([['ping@30'], 1]);
    health[Symbol.dispose]();
    expect(clock.pending).toBe(0);
  });

  it('given received data, then the idle time starts again', async () => {
    const { clock, seen, health } = setUp('silent');
    await clock.advance(20_000);
    health.heard();
    await clock.advance(29_999);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual(['ping@50']);
  });

  it('given an answer after the check has ended, then no further PING is sent', async () => {
    const { clock, seen, health } = setUp('answers');
    await clock.advance(30_000);
    health[Symbol.dispose]();
    health.askNow(() => expect.unreachable());
    await clock.advance(100_000);
    expect(seen).toEqual(['ping@30']);
    expect(clock.pending).toBe(0);
  });
});

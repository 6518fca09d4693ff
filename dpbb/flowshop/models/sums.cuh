// Bounds of all children of a node at once, of costs that are sums over the jobs.
//
// Every lane has its own node. Machine by machine the jobs that are left in any of them
// pass in one order, the same in all lanes: what is read of a job is one access, and what
// a lane knows of its child lies in a column of shared memory. Completion times: in the
// order of Smith's rule a job j that is taken out leaves the others' sum lower by
// w_j P_j + p_j W_j, P_j the times up to it, W_j the weights behind it: two running sums
// for all children. Tardiness and late jobs: the times and the due dates that are left,
// each in ascending order, are listed once a machine; a child that has reached the upper
// bound is not looked at again. Most jobs are late in every child or in none: their
// tardiness is a difference of sums, and only those between are compared one by one. Of
// the jobs up to a due date no more are in time than have the shortest times there; the
// others are late, of the least weights.
//
// Behind the header of dpbb.flowshop.models.sums_cuda, whose text has the same bounds.

#include "warp.cuh"

struct OfJob {
  int job, time, weight, later;
};
__device__ __forceinline__ OfJob of_job(const u32 *quads, int at) {
  const uint4 quad = reinterpret_cast<const uint4 *>(quads)[at];
  return {(int)quad.x, (int)quad.y, (int)quad.z, (int)quad.w};
}

// Rows of 32 words: of each job, of each place in a list, and one of no job.
constexpr int AT_ONCE = 4;  // jobs whose loads are under way at a time
constexpr int MOST = 0, END = MOST + N_JOBS + 1, PASSING = END + N_JOBS + 1;
constexpr int TIMES = PASSING + (N_JOBS + AT_ONCE + 7) / 8;
constexpr int DATES = TIMES + N_JOBS + TARDY, RANKS = DATES + N_JOBS;
constexpr int LIGHT = RANKS + N_JOBS + 1;  // sums of the least weights
constexpr bool LISTED = TARDY || LATE, WEIGHED = LATE && WEIGHTED;
static_assert(
    (WEIGHED ? LIGHT + N_JOBS + 1 : LISTED ? LIGHT : TIMES) == COLUMNS,
    "rows are not what dpbb.flowshop.models.sums_cuda says");

__device__ __forceinline__ int cost_of(int weight, int due, int end) {
  const int cost = TARDY ? max(0, end - due) : LATE ? end > due : end;
  return WEIGHTED ? weight * cost : cost;
}

// The jobs of an order that are in a set, with what is told of them, and of no job up to
// a multiple of AT_ONCE; returns that. A lane looks at a job.
template <class IsThere>
__device__ __forceinline__ int list_passing(
    const u32 *order, u32 *passing, IsThere is_there, int lane) {
  int n = 0;
  __syncwarp();
  for (int first = 0; first < N_JOBS; first += 32) {
    const OfJob of = of_job(order, min(first + lane, N_JOBS - 1));
    const bool there = first + lane < N_JOBS && is_there(of.job);
    const u32 all = __ballot_sync(0xffffffffu, there);
    const int at = n + __popc(all & ((1u << lane) - 1));
    if (there)
      reinterpret_cast<uint4 *>(passing)[at] =
          make_uint4((u32)of.job, (u32)of.time, (u32)of.weight, (u32)of.later);
    n += __popc(all);
  }
  if (lane < AT_ONCE)
    reinterpret_cast<uint4 *>(passing)[n + lane] = make_uint4(N_JOBS, 0u, 0u, 0u);
  __syncwarp();
  return (n + AT_ONCE - 1) / AT_ONCE * AT_ONCE;
}

// `word(w)`: of the node's state. The bound of job j's child is left in columns[j], or
// what is not below ub.
template <class WordAt>
__device__ __forceinline__ void bound_children(
    const u32 *tables, WordAt word, u32 (*columns)[32], int ub, int lane) {
  const u32 *const lightest = tables, *const of_order = tables + 4;
  const u32 *const of_dates = of_order + 4 * MACHINES * N_JOBS;
  const u32 *const of_weights = of_dates + (LISTED ? 4 * MACHINES * N_JOBS : 0);
  const u32 *const of_jobs = of_weights + (WEIGHED ? 4 * N_JOBS : 0);
  u32 *const passing = columns[PASSING];
  u32 left[LEFT_WORDS], open[LEFT_WORDS], any[LEFT_WORDS];
  int n_left = 0;
#pragma unroll
  for (int w = 0; w < LEFT_WORDS; ++w) {
    open[w] = left[w] = word(LEFT + w);
    any[w] = warp_or(left[w]);
    n_left += __popc(left[w]);
  }
  const auto is_in = [](const u32 *jobs, int job) {
    const u32 word = LEFT_WORDS == 1 || job < 32 ? jobs[0] : jobs[LEFT_WORDS - 1];
    return (word >> job % 32 & 1) && (N_JOBS % 32 || job < N_JOBS);
  };
  const auto in_any = [&](int job) { return is_in(any, job); };
  const int cost = (int)word(COST_AT);
  // adds to the bound of each child that is open, which may close it
  const auto each_open = [&](auto &&rest_of) {
#pragma unroll
    for (int w = 0; w < LEFT_WORDS; ++w)
#pragma unroll 1
      for (u32 jobs = open[w]; jobs; jobs &= jobs - 1) {
        const int job = 32 * w + __ffs(jobs) - 1;
        const int most = max((int)columns[MOST + job][lane], rest_of(job));
        columns[MOST + job][lane] = (u32)most;
        if (most + cost >= ub) open[w] ^= jobs & (0u - jobs);
      }
  };
  const int first = BLOCKING ? (int)word(ENDS_AT) : 0;
  int heavy = 0;
  u32 at_least = 0;  // tardiness that release dates bring
#pragma unroll 1
  for (int j = 0; j < N_JOBS; ++j) {
    const OfJob of = of_job(of_jobs, j);  // release date, ready, weight, due
    columns[MOST + j][lane] = 0;
    columns[END + j][lane] = RELEASED ? max(first, of.job) : first;
    if (WEIGHTED && is_in(left, j)) heavy += of.weight;
    if (TARDY && RELEASED && is_in(left, j))
      at_least += (u32)cost_of(of.weight, of.later, of.time);
  }
  if (!WEIGHTED) heavy = n_left;
  if (WEIGHED) {
    int sum = 0, place = 0;
    columns[LIGHT][lane] = 0;
#pragma unroll 1
    for (int i = 0; i < N_JOBS; ++i) {
      const OfJob of = of_job(of_weights, i);  // time: the weight
      columns[RANKS + of.job][lane] = (u32)place << 16;
      if (is_in(left, of.job)) columns[LIGHT + ++place][lane] = (u32)(sum += of.time);
    }
  }

#pragma unroll 1
  for (int k = 0; k < MACHINES; ++k) {
    const int front = (int)word(ENDS_AT + k);
    const int next = BLOCKING && k + 1 < MACHINES ? (int)word(ENDS_AT + k + 1) : 0;
    const int n = list_passing(of_order + 4 * k * N_JOBS, passing, in_any, lane);
    int all = 0, so_far = 0, count = 0, behind = heavy;
    int soonest = 1 << 29, latest = 0;   // ends of children that are open
    u32 heavy_late = 0, slack_late = 0;  // of jobs that are late after any of them
    bool unsure = false;                 // whether others may be
    if (!LISTED) {
#pragma unroll 1
      for (int i = 0; i < n; i += AT_ONCE) {
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
          const OfJob of = of_job(passing, i + u);
          if (is_in(left, of.job)) {
            so_far += of.time;
            all += (WEIGHTED ? of.weight * so_far : so_far) + of.later;
          }
        }
      }
      so_far = 0;
    }
#pragma unroll 1
    for (int i = 0; i < n; i += AT_ONCE) {
      OfJob of[AT_ONCE];
      int end[AT_ONCE], most[AT_ONCE];
#pragma unroll
      for (int u = 0; u < AT_ONCE; ++u) {
        of[u] = of_job(passing, i + u);
        end[u] = (int)columns[END + of[u].job][lane];
        if (!LISTED) most[u] = (int)columns[MOST + of[u].job][lane];
      }
#pragma unroll
      for (int u = 0; u < AT_ONCE; ++u) {
        const int time = of[u].time, weight = WEIGHTED ? of[u].weight : 1;
        const bool there = is_in(left, of[u].job);
        end[u] = BLOCKING ? max(end[u] + time, next) : max(end[u], front) + time;
        columns[END + of[u].job][lane] = (u32)end[u];
        if (LISTED) {
          u32 &ranks = columns[RANKS + of[u].job][lane];
          ranks = (WEIGHED ? ranks & 0xffff0000u : 0u) | (u32)count;
          if (there) columns[TIMES + count++][lane] = (u32)(TARDY ? so_far : time);
          if (TARDY && there) so_far += time;
          if (TARDY && is_in(open, of[u].job)) {
            soonest = min(soonest, end[u]);
            latest = max(latest, end[u]);
          }
        } else {
          if (there) {
            so_far += time;
            behind -= weight;
          }
          const int gone = (WEIGHTED ? weight * so_far : so_far) + time * behind;
          const int rest = all - of[u].later - gone + end[u] * (heavy - weight);
          columns[MOST + of[u].job][lane] = (u32)max(most[u], rest);
        }
      }
    }
    if (LISTED) {
      const u32 *const dates = of_dates + 4 * k * N_JOBS;
      const int n_dates = list_passing(dates, passing, in_any, lane);
      int date = 0, from = 0;  // all places from this one on are late in every open child
      u32 beyond = 0;          // their completions less due dates, without the child's end
      if (TARDY) columns[TIMES + count][lane] = (u32)so_far;
      so_far = 0;
#pragma unroll 1
      for (int i = 0; i < n_dates; i += AT_ONCE) {
        OfJob of[AT_ONCE];
        u32 ranks[AT_ONCE];
        int next[AT_ONCE], after = date;
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
          of[u] = of_job(passing, i + u);
          ranks[u] = columns[RANKS + of[u].job][lane];
          if (TARDY) next[u] = (int)columns[TIMES + after + 1][lane];
          after += is_in(left, of[u].job);
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
          const int at = of[u].time, slack = of[u].weight, weight = of[u].later;
          columns[RANKS + of[u].job][lane] = ranks[u] | (u32)date << 8;
          const bool there = is_in(left, of[u].job);
          if (TARDY) {
            const bool sure = !there || so_far + soonest > at;
            from = sure ? from : date;
            beyond = (sure ? beyond : 0) + (u32)(there ? next[u] - at : 0);
            so_far = there ? next[u] : so_far;
          }
          if (TARDY && ALONE) {
            const bool late = slack <= soonest;
            heavy_late += there && late ? (u32)weight : 0;
            slack_late += there && late ? (u32)weight * (u32)slack : 0;
            unsure |= there && !late && slack < latest;
          }
          if (there) columns[DATES + date++][lane] = (u32)at;
        }
      }
      each_open([&](int job) {
        const u32 ranks = columns[RANKS + job][lane];
        const int of_time = (int)(ranks & 255), of_date = (int)(ranks >> 8 & 255);
        int at = (int)columns[END + job][lane], rest = 0;
        if (LATE) {
          int in_time = 0;
          at += (int)columns[TIMES + (0 >= of_time)][lane];
#pragma unroll 1
          for (int i = 0; i < n_left - 1; ++i) {
            const int date = (int)columns[DATES + i + (i >= of_date)][lane];
            while (in_time <= i && at <= date) {
              ++in_time;
              at += (int)columns[TIMES + in_time + (in_time >= of_time)][lane];
            }
            rest = max(rest, i + 1 - in_time);
          }
          if (!WEIGHED) return rest;
          const int place = (int)(ranks >> 16);
          if (rest <= place) return (int)columns[LIGHT + rest][lane];
          u32(*const sums)[32] = columns + LIGHT;
          const u32 own = sums[place + 1][lane] - sums[place][lane];
          return (int)(sums[rest + 1][lane] - own);
        }
        const u32(*const upto)[32] = columns + TIMES, (*const due)[32] = columns + DATES;
        const int time = (int)(upto[of_time + 1][lane] - upto[of_time][lane]);
        const int place = max(of_time, from);
        rest = (int)(beyond - upto[place + 1][lane] + due[max(of_date, from)][lane] +
                     (u32)(count - 1 - from) * (u32)at -
                     (u32)(count - 1 - place) * (u32)time);
        int end = (int)upto[1][lane], date = (int)due[0][lane];
#pragma unroll 4
        for (int i = 0; i < from; ++i) {
          const int next_end = (int)upto[i + 2][lane], next_date = (int)due[i + 1][lane];
          const int done = i < of_time ? end : next_end - time;
          rest += max(0, at + done - (i < of_date ? date : next_date));
          end = next_end;
          date = next_date;
        }
        return WEIGHTED ? rest * (int)lightest[0] : rest;
      });
    }
    if (ALONE) {
      const u32 *const others = of_jobs + 4 * (k + 1) * N_JOBS;
      int n_unsure = 0;
      if (TARDY && __any_sync(ALL_LANES, unsure)) {
#pragma unroll 1
        for (int i = 0; i < n; ++i) {
          const OfJob of = of_job(passing, i);
          if (!is_in(left, of.job) || of.weight <= soonest || of.weight >= latest)
            continue;
          columns[TIMES + n_unsure][lane] = (u32)of.weight;
          columns[DATES + n_unsure++][lane] = (u32)of.later;
        }
      }
      each_open([&](int job) {
        const int end = (int)columns[END + job][lane];
        int rest = 0;
        if (TARDY) {
          u32 sum = at_least + heavy_late * (u32)end - slack_late;
#pragma unroll 1
          for (int i = 0; i < n_unsure; ++i)
            sum += columns[DATES + i][lane] *
                   (u32)max(0, end - (int)columns[TIMES + i][lane]);
          const OfJob own = of_job(others, job);
          const int done = RELEASED ? max(end + own.job, own.time) : end + own.job;
          return (int)sum - cost_of(own.weight, own.later, done);
        }
#pragma unroll 4
        for (int i = 0; i < N_JOBS; ++i) {
          const OfJob of = of_job(others, i);  // rest, ready, weight, due
          const int done = RELEASED ? max(end + of.job, of.time) : end + of.job;
          if (i != job && is_in(left, i)) rest += cost_of(of.weight, of.later, done);
        }
        return rest;
      });
    }
  }
#pragma unroll 1
  for (int j = 0; j < N_JOBS; ++j) {
    const OfJob of = of_job(of_jobs, j);
    const int own = cost_of(of.weight, of.later, (int)columns[END + j][lane]);
    columns[MOST + j][lane] += (u32)(cost + own);
  }
}

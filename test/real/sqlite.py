"""sqlite3: tables, indexes, joins, triggers, recursive queries, a file that is vacuumed."""
import os

from real import real_program, which

WORKLOAD = """
pragma journal_mode = delete;
create table person(id integer primary key, name text, age int);
create table visit(person int, day int, note text);
create index visit_person on visit(person, day);
create trigger aged after update on person begin
  insert into visit values (new.id, new.age, 'birthday of ' || new.name); end;
begin;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 2000)
  insert into person select i, printf('person %05d', i * 7919 % 10007), i % 90 from n;
insert into visit select id, (id * 31) % 365, hex(id * id) from person;
commit;
update person set age = age + 1 where id % 10 = 3;
select age / 10, count(*), min(name), max(name) from person group by 1 order by 1;
select p.name, count(*) c, group_concat(v.day) from person p join visit v on v.person = p.id
  group by p.id having c > 1 order by p.name limit 10;
select name, row_number() over (partition by age % 5 order by name), avg(age) over (order by id
  rows 5 preceding) from person order by 2 desc, 1 limit 8;
with recursive fib(a, b) as (select 0, 1 union all select b, a + b from fib where b < 1000000000)
  select group_concat(a) from fib;
select json_group_array(json_object('n', name)) from (select name from person order by 1 limit 5);
delete from visit where day between 100 and 200;
vacuum;
pragma integrity_check;
select count(*), sum(length(note)), round(avg(day), 6) from visit;
select nothing from nowhere;
"""


def prepare(directory):
    with open(os.path.join(directory, "workload.sql"), "w", encoding="ascii") as script:
        script.write(WORKLOAD)


real_program([which("sqlite3"), "-batch", "-header", "base.db", ".read workload.sql"], prepare, status=1,
             libcalls=True)

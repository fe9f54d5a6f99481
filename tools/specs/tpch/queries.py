"""TPC-H's queries in SQL as DuckDB answers them, and how our results become the same rows.

Columns of text that only pass through (addresses, comments) are left out; a name of a customer or supplier is
given by its key.  ``rows`` turns the outputs of a program into what the query selects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, field

from tools.specs.tpch.tables import lists

Row: TypeAlias = tuple[Any, ...]
Reader: TypeAlias = Callable[..., Any]


def money(value: Any) -> float:
    """Cents as a number of units."""
    return float(value) / 100


def product(value: Any) -> float:
    """Cents times percents."""
    return float(value) / 10_000


def date(value: Any) -> str:
    """A day as DuckDB writes it."""
    return str(np.datetime64(int(value), "D"))


def text(name: str) -> Reader:
    """A code as the text it stands for."""
    return lambda value: lists()[name][int(value) - 1]


def _plain(*readers: Reader) -> Callable[[Mapping[str, Any]], list[Row]]:
    def rows(outputs: Mapping[str, Any]) -> list[Row]:
        (result,) = outputs.values()
        table = np.asarray(result).reshape(-1, len(readers))
        return [tuple(read(value) for read, value in zip(readers, row, strict=True)) for row in table]

    return rows


def _summary(outputs: Mapping[str, Any]) -> list[Row]:
    found = []
    for key, mean in zip(outputs["keys"], outputs["means"], strict=True):
        flag, status = divmod(int(key[0]) - 1, 3)
        sums = (int(key[1]), money(key[2]), product(key[3]), float(key[4]) / 1_000_000)
        means = (float(mean[0]), money(mean[1]), money(mean[2]))
        found.append((lists()["flags"][flag], lists()["statuses"][status], *sums, *means, int(key[5])))
    return found


def _shipping(outputs: Mapping[str, Any]) -> list[Row]:
    """Which way the goods went (from the first nation, or to it), the year, the revenue."""
    return [
        ((int(g) - 1) // 2, 1995 + (int(g) - 1) % 2, product(revenue)) for g, revenue in outputs["result"]
    ]


def _shares(outputs: Mapping[str, Any]) -> list[Row]:
    return [(int(y), float(s)) for y, s in zip(outputs["year_"], outputs["share"], strict=True)]


def _profits(outputs: Mapping[str, Any]) -> list[Row]:
    return [
        (lists()["nations"][(int(g) - 1) // 7], 1998 - (int(g) - 1) % 7, product(profit))
        for g, profit in outputs["result"]
    ]


def _kinds(outputs: Mapping[str, Any]) -> list[Row]:
    found = []
    for kind, count in outputs["result"]:
        rest, size = divmod(int(kind), 64)
        brand, type_ = divmod(rest, 150)
        words = (("sizes_of_type", type_ // 25), ("finishes", type_ // 5 % 5), ("metals", type_ % 5))
        found.append((f"Brand#{brand}", " ".join(lists()[name][k] for name, k in words), size, int(count)))
    return found


class Query(Struct, frozen=True):
    """A query of the benchmark: DuckDB's answer and ours are rows of the same kind.

    ``given`` has the values of the benchmark for what stands in braces; programs call it the same.
    """

    sql: str
    rows: Callable[[Mapping[str, Any]], list[Row]]
    given: Mapping[str, Any] = field(default_factory=dict)


def answered(rows: Sequence[Row]) -> list[Row]:
    """DuckDB's rows: dates as text, anything else as it is."""
    return [tuple(str(v) if hasattr(v, "isoformat") else v for v in row) for row in rows]


def same(ours: Sequence[Row], theirs: Sequence[Row]) -> bool:
    """Whether rows are the same, numbers to ten digits."""
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(_alike(x, y) for x, y in zip(a, b, strict=True))
        for a, b in zip(ours, theirs, strict=True)
    )


def _alike(x: Any, y: Any) -> bool:
    if y is None:  # a sum of nothing is 0 here, and a share of nothing no number
        return bool(x == 0 or np.isnan(x))
    if isinstance(x, str) or isinstance(y, str):
        return str(x) == str(y)
    return bool(np.isclose(float(x), float(y), rtol=1e-10, atol=1e-9))


QUERIES: dict[str, Query] = {
    "Q01": Query(
        """select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice),
        sum(l_extendedprice * (1 - l_discount)), sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
        avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
        from lineitem where l_shipdate <= date '1998-12-01' - interval '90' day
        group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus""",
        _summary,
    ),
    "Q02": Query(
        """select s_acctbal, s_suppkey, n_name, p_partkey from part, supplier, partsupp, nation, region
        where p_partkey = ps_partkey and s_suppkey = ps_suppkey and p_size = {size} and p_type like '%BRASS'
        and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = '{region}'
        and ps_supplycost = (select min(ps_supplycost) from partsupp, supplier, nation, region
        where p_partkey = ps_partkey and s_suppkey = ps_suppkey and s_nationkey = n_nationkey
        and n_regionkey = r_regionkey and r_name = '{region}')
        order by s_acctbal desc, n_name, s_suppkey, p_partkey limit 100""",
        _plain(money, int, text("nations"), int),
        {"region": "EUROPE", "size": 15},
    ),
    "Q03": Query(
        """select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate
        from customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey
        and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
        group by l_orderkey, o_orderdate order by revenue desc, o_orderdate limit 10""",
        _plain(int, product, date),
    ),
    "Q04": Query(
        """select o_orderpriority, count(*) from orders where o_orderdate >= date '1993-07-01'
        and o_orderdate < date '1993-10-01' and exists (select * from lineitem where l_orderkey = o_orderkey
        and l_commitdate < l_receiptdate) group by o_orderpriority order by o_orderpriority""",
        _plain(text("priorities"), int),
    ),
    "Q05": Query(
        """select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
        from customer, orders, lineitem, supplier, nation, region where c_custkey = o_custkey
        and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
        and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = '{region}'
        and o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'
        group by n_name order by revenue desc""",
        _plain(text("nations"), product),
        {"region": "ASIA"},
    ),
    "Q06": Query(
        """select sum(l_extendedprice * l_discount) from lineitem where l_shipdate >= date '1994-01-01'
        and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24""",
        _plain(product),
    ),
    "Q07": Query(
        """select n1.n_name = '{second}' as back, extract(year from l_shipdate) as l_year,
        sum(l_extendedprice * (1 - l_discount))
        from supplier, lineitem, orders, customer, nation n1, nation n2
        where s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = o_custkey
        and s_nationkey = n1.n_nationkey and c_nationkey = n2.n_nationkey
        and ((n1.n_name = '{first}' and n2.n_name = '{second}')
        or (n1.n_name = '{second}' and n2.n_name = '{first}'))
        and l_shipdate between date '1995-01-01' and date '1996-12-31'
        group by back, l_year order by back, l_year""",
        _shipping,
        {"first": "FRANCE", "second": "GERMANY"},
    ),
    "Q08": Query(
        """select extract(year from o_orderdate) as o_year, sum(case when n2.n_name = 'BRAZIL'
        then l_extendedprice * (1 - l_discount) else 0 end) / sum(l_extendedprice * (1 - l_discount))
        from part, supplier, lineitem, orders, customer, nation n1, nation n2, region
        where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey
        and o_custkey = c_custkey and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey
        and r_name = 'AMERICA' and s_nationkey = n2.n_nationkey
        and o_orderdate between date '1995-01-01' and date '1996-12-31' and p_type = 'ECONOMY ANODIZED STEEL'
        group by o_year order by o_year""",
        _shares,
    ),
    "Q09": Query(
        """select n_name, extract(year from o_orderdate) as o_year,
        sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)
        from part, supplier, lineitem, partsupp, orders, nation where s_suppkey = l_suppkey
        and ps_suppkey = l_suppkey and ps_partkey = l_partkey and p_partkey = l_partkey
        and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%green%'
        group by n_name, o_year order by n_name, o_year desc""",
        _profits,
    ),
    "Q10": Query(
        """select c_custkey, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name
        from customer, orders, lineitem, nation where c_custkey = o_custkey and l_orderkey = o_orderkey
        and o_orderdate >= date '1993-10-01' and o_orderdate < date '1994-01-01' and l_returnflag = 'R'
        and c_nationkey = n_nationkey group by c_custkey, c_acctbal, n_name order by revenue desc limit 20""",
        _plain(int, product, money, text("nations")),
    ),
    "Q11": Query(
        """select ps_partkey, sum(ps_supplycost * ps_availqty) as value from partsupp, supplier, nation
        where ps_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = '{nation}'
        group by ps_partkey having sum(ps_supplycost * ps_availqty) * {share} > (
        select sum(ps_supplycost * ps_availqty) from partsupp, supplier, nation
        where ps_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = '{nation}')
        order by value desc""",
        _plain(int, money),
        {"nation": "GERMANY"},
    ),
    "Q12": Query(
        """select l_shipmode, sum(case when o_orderpriority in ('1-URGENT', '2-HIGH') then 1 else 0 end),
        sum(case when o_orderpriority not in ('1-URGENT', '2-HIGH') then 1 else 0 end)
        from orders, lineitem where o_orderkey = l_orderkey and l_shipmode in ('MAIL', 'SHIP')
        and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
        and l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1995-01-01'
        group by l_shipmode order by l_shipmode""",
        _plain(text("modes"), int, int),
    ),
    "Q13": Query(
        """select c_count, count(*) as custdist from (select c_custkey, count(o_orderkey) as c_count
        from customer left outer join orders on c_custkey = o_custkey
        and o_comment not like '%special%requests%' group by c_custkey) as counted
        group by c_count order by custdist desc, c_count desc""",
        _plain(int, int),
    ),
    "Q14": Query(
        """select 100.00 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount)
        else 0 end) / sum(l_extendedprice * (1 - l_discount)) from lineitem, part
        where l_partkey = p_partkey and l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-10-01'""",
        _plain(float),
    ),
    "Q15": Query(
        """with revenue as (select l_suppkey as supplier_no, sum(l_extendedprice * (1 - l_discount)) as total
        from lineitem where l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01'
        group by l_suppkey) select s_suppkey, total from supplier, revenue where s_suppkey = supplier_no
        and total = (select max(total) from revenue) order by s_suppkey""",
        _plain(int, product),
    ),
    "Q16": Query(
        """select p_brand, p_type, p_size, count(distinct ps_suppkey) as supplier_cnt from partsupp, part
        where p_partkey = ps_partkey and p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%'
        and p_size in (49, 14, 23, 45, 19, 3, 36, 9) and ps_suppkey not in (select s_suppkey from supplier
        where s_comment like '%Customer%Complaints%') group by p_brand, p_type, p_size
        order by supplier_cnt desc, p_brand, p_type, p_size""",
        _kinds,
    ),
    "Q17": Query(
        """select sum(l_extendedprice) / 7.0 from lineitem, part where p_partkey = l_partkey
        and p_brand = 'Brand#23' and p_container = 'MED BOX' and l_quantity < (
        select 0.2 * avg(l_quantity) from lineitem where l_partkey = p_partkey)""",
        _plain(money),
    ),
    "Q18": Query(
        """select c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
        from customer, orders, lineitem where o_orderkey in (select l_orderkey from lineitem
        group by l_orderkey having sum(l_quantity) > {pieces}) and c_custkey = o_custkey
        and o_orderkey = l_orderkey group by c_custkey, o_orderkey, o_orderdate, o_totalprice
        order by o_totalprice desc, o_orderdate limit 100""",
        _plain(int, int, date, money, int),
        {"pieces": 300},
    ),
    "Q19": Query(
        """select sum(l_extendedprice * (1 - l_discount)) from lineitem, part where p_partkey = l_partkey
        and l_shipmode in ('AIR', 'REG AIR') and l_shipinstruct = 'DELIVER IN PERSON' and (
        (p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
        and l_quantity between 1 and 11 and p_size between 1 and 5) or (p_brand = 'Brand#23'
        and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity between 10 and 20
        and p_size between 1 and 10) or (p_brand = 'Brand#34'
        and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity between 20 and 30
        and p_size between 1 and 15))""",
        _plain(product),
    ),
    "Q20": Query(
        """select s_suppkey from supplier, nation where s_suppkey in (select ps_suppkey from partsupp
        where ps_partkey in (select p_partkey from part where p_name like '{colour}%') and ps_availqty > (
        select 0.5 * sum(l_quantity) from lineitem where l_partkey = ps_partkey and l_suppkey = ps_suppkey
        and l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'))
        and s_nationkey = n_nationkey and n_name = '{nation}' order by s_suppkey""",
        _plain(int),
        {"nation": "CANADA", "colour": "forest"},
    ),
    "Q21": Query(
        """select s_suppkey, count(*) as numwait from supplier, lineitem l1, orders, nation
        where s_suppkey = l1.l_suppkey and o_orderkey = l1.l_orderkey and o_orderstatus = 'F'
        and l1.l_receiptdate > l1.l_commitdate and exists (select * from lineitem l2
        where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey)
        and not exists (select * from lineitem l3 where l3.l_orderkey = l1.l_orderkey
        and l3.l_suppkey <> l1.l_suppkey and l3.l_receiptdate > l3.l_commitdate)
        and s_nationkey = n_nationkey and n_name = '{nation}'
        group by s_suppkey order by numwait desc, s_suppkey limit 100""",
        _plain(int, int),
        {"nation": "SAUDI ARABIA"},
    ),
    "Q22": Query(
        """select cast(substring(c_phone, 1, 2) as integer) as cntrycode, count(*), sum(c_acctbal)
        from customer where substring(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17')
        and c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0.00
        and substring(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17'))
        and not exists (select * from orders where o_custkey = c_custkey)
        group by cntrycode order by cntrycode""",
        _plain(int, int, money),
    ),
}

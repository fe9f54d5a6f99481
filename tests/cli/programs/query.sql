select count(*) from orders where price > 100
